package enginehttp_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// A request beyond an owner's quota gets 422 with what exists and what is allowed, and
// costs nothing.
func TestQuotas(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.engine.Quotas = streamwatch.Quotas{Monitors: 1, Rules: 1, Endpoints: 1} // what each owner has already
	})
	for _, row := range []struct{ path, body, want string }{
		{monitors, `{"name":"more","usernames":["esa"]}`, "quota of monitors exceeded: 1 there and 1 more asked for, want at most 1"},
		{social + "/stream/filter-rules", `{"tag":"more","query":"mars","interval_seconds":60}`, "quota of rules exceeded: 1 there and 1 more asked for, want at most 1"},
		{social + "/stream/webhooks", `{"monitor_id":"{monitor}","url":"https://more.example.com/"}`, "quota of endpoints exceeded: 1 there and 1 more asked for, want at most 1"},
	} {
		a := w.do(mine, "POST", row.path, row.body)
		if a.status != 422 || a.decode(t)["error"] != row.want {
			t.Errorf("%s: %d %s, want 422 %q", row.path, a.status, a.body, row.want)
		}
	}
	if spent, _ := w.spent(mine); spent != 0 {
		t.Errorf("charged %d", spent)
	}
}

// While another node creates something for the owner, a creation gets 409 and may come
// again.
func TestBusyNodes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(s *setup) {
			s.engine.Quotas.Monitors = 2
			s.engine.Fleet = &streamwatch.FleetConfig{Name: "one"}
		})
		turn := fleet.Request{Owner: mine, ID: "turn of monitors", By: "another node", Lease: time.Minute}
		if _, err := w.store.(storage.Sharing).Answers().Begin(t.Context(), turn); err != nil {
			t.Fatal(err)
		}
		body := `{"name":"n","usernames":["esa"]}`
		if a := w.do(mine, "POST", monitors, body); a.status != 409 || a.header.Get("Retry-After") != "1" || !strings.Contains(a.body, "try again") {
			t.Errorf("%d %s", a.status, a.body)
		}
		if err := w.store.(storage.Sharing).Answers().Finish(t.Context(), turn, nil); err != nil {
			t.Fatal(err)
		}
		if a := w.do(mine, "POST", monitors, body); a.status != 201 {
			t.Errorf("%d %s", a.status, a.body)
		}
	})
}
