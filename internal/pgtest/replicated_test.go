package pgtest

import (
	"context"
	"testing"
	"time"
)

func TestReplicated(t *testing.T) {
	for _, tc := range []struct {
		name        string
		synchronous bool
	}{{"synchronous", true}, {"asynchronous", false}} {
		t.Run(tc.name, func(t *testing.T) {
			p := Replicated(t, tc.synchronous, "fsync off")
			own := p.NewDatabase(t)
			conn := connect(t, own)
			_, err := conn.Exec(t.Context(), "CREATE TABLE kept (v text)")
			must(t, err)
			if !tc.synchronous {
				p.AwaitStandby()
			}
			p.Standby.Kill()
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			if _, err := conn.Exec(ctx, "INSERT INTO kept VALUES ('v')"); (err == nil) == tc.synchronous {
				t.Errorf("a commit without the standby: %v", err)
			}
			p.Standby.Start()
			p.AwaitStandby()

			p.Primary.Kill()
			p.Promote()
			conn = connect(t, own)
			var port int
			must(t, conn.QueryRow(t.Context(), "INSERT INTO kept VALUES ('w') RETURNING inet_server_port()").Scan(&port))
			if port != p.Standby.i.port {
				t.Errorf("written at port %d, want the standby's, %d", port, p.Standby.i.port)
			}
			var n int
			must(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&n))
			if n != 2 {
				t.Errorf("the promoted standby has %d rows, want 2", n)
			}
			connect(t, p.URL())
		})
	}
}
