package pgtest

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestBouncer(t *testing.T) {
	s := Single(t)
	b := Bouncer(t, s, "default_pool_size = 1")
	first, second := connect(t, b.URL()), connect(t, b.URL())
	backend := func(conn *pgx.Conn) (pid int) {
		t.Helper()
		must(t, conn.QueryRow(t.Context(), "SELECT pg_backend_pid()", pgx.QueryExecModeSimpleProtocol).Scan(&pid))
		return pid
	}
	if a, b := backend(first), backend(second); a != b {
		t.Errorf("two clients have backends %d and %d, want one", a, b)
	}
	backend(connect(t, b.Of(s.NewDatabase(t))))
	b.Restart()
	if err := first.Ping(t.Context()); err == nil {
		t.Error("a connection outlived the bouncer")
	}
	s.Restart()
	Until(t, readyWithin, "the bouncer has the server again", func() bool { return ping(b.URL()) == nil })
}
