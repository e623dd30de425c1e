package enginehttp_test

import (
	"testing"

	"github.com/streamwatch/streamwatch"
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
