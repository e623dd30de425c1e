package monitor_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/monitor"
)

// Accounts may be addresses, whose scheme and host have no case, and whose path has.
func TestAccountsAreURLs(t *testing.T) {
	d := newDesk(t)
	c := create(t, d, func(r *monitor.CreateRequest) {
		r.Usernames = []string{"https://example.com/feed", "HTTPS://Example.com/feed", "https://example.com/Feed", "news:Http://example.com/feed"}
	})
	if got := c.Usernames(); len(got) != 3 {
		t.Errorf("accounts %q, want three", got)
	}
	for _, bad := range []string{"ftp://example.com/feed", "https://", "a b:https://example.com/", "https://example.com/<feed>"} {
		if _, err := d.Create(t.Context(), monitor.CreateRequest{Owner: "acme", Name: "bad", Usernames: []string{bad}}); err == nil {
			t.Errorf("%q is allowed", bad)
		}
	}
}
