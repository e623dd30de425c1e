package enginehttp_test

import (
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
)

// The client's X-Request-Id comes back if it is short and plain. Two requests with the
// same id are both charged.
func TestRequestIDs(t *testing.T) {
	w := newWorld(t)
	ask := func(ids ...string) answer {
		r := request("GET", "/v1/account/me", "")
		r.Header.Set("X-Api-Key", w.key[mine])
		r.Header["X-Request-Id"] = ids
		return w.send(r)
	}
	for _, id := range []string{"a", "0f8fad5b-d9cb-469f-a165-70867728950e", "a.b_c:d-9", strings.Repeat("x", 128)} {
		for range 2 {
			if got := ask(id).header.Get("X-Request-Id"); got != id {
				t.Errorf("X-Request-Id %q came back as %q", id, got)
			}
		}
	}
	spent, n := w.spent(mine)
	if spent != 8*billing.Credit || n != 8 {
		t.Errorf("charged %d in %d entries for 8 requests", spent, n)
	}
	for _, ids := range [][]string{nil, {""}, {strings.Repeat("x", 129)}, {"a b"}, {"a\nb"}, {"é"}, {`"><script>`}, {"a", "b"}} {
		if got := ask(ids...).header.Get("X-Request-Id"); !strings.HasPrefix(got, "req_") {
			t.Errorf("X-Request-Id %.40q came back as %q, want one that was made", ids, got)
		}
	}
}
