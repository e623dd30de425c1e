package enginehttp_test

import (
	"strings"
	"testing"
)

// A malformed query string is refused: otherwise a filter in it would be ignored, and
// everything found.
func TestMalformedQueryStrings(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{
		monitors + "?status=paused%",
		monitors + "?page=2;page_size=1",
		monitors + "?page_size=%zz",
		social + "/stream/logs?monitor_id={monitor}%",
		social + "/stream/filter-rules?cursor=%",
		social + "/tweets/advanced_search?query=100%",
		social + "/users/batch_by_ids?user_ids=1%2",
	} {
		a := w.do(mine, "GET", path, "")
		if a.status != 400 || !strings.Contains(a.body, "malformed query string") {
			t.Errorf("GET %s: %d %s, want 400", path, a.status, a.body)
		}
	}
	if spent, _ := w.spent(mine); spent != 0 {
		t.Errorf("charged %d", spent)
	}
}
