package enginehttp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/enginehttp"
)

// A foreign id answers as an unknown one does, in every byte, on every route and
// with every method that takes an id, in the path, the query or the body.
func TestForeignIsUnknown(t *testing.T) {
	methods := []string{"GET", "POST", "PUT", "PATCH", "DELETE"}
	compared := 0
	for _, e := range endpoints {
		if !strings.ContainsAny(e.path+e.body, "{") || !hasID(e.path+e.body) {
			continue
		}
		for _, method := range methods {
			w := newWorld(t)
			ask := func(replace func(string) string) answer {
				r := request(method, replace(e.path), replace(e.body))
				r.Header.Set("X-Api-Key", w.key[mine])
				a := w.send(r)
				for _, h := range []string{"X-Request-Id", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} { // count requests
					a.header.Del(h)
				}
				return a
			}
			foreign := ask(w.ids[theirs].Replace)
			unknown := ask(strings.NewReplacer("{monitor}", "mon_unknown", "{webhook}", "whk_unknown", "{delivery}", "dlv_unknown", "{rule}", "rul_unknown").Replace)
			if foreign.status != unknown.status || foreign.body != unknown.body || !slices.Equal(lines(foreign.header), lines(unknown.header)) {
				t.Errorf("%s %s: foreign %d %v %s, unknown %d %v %s", method, e.path, foreign.status, foreign.header, foreign.body, unknown.status, unknown.header, unknown.body)
			}
			if method == e.method() && foreign.status == e.status && !strings.Contains(e.path, "?") {
				t.Errorf("%s %s: %d for another owner's id", method, e.path, foreign.status)
			}
			for _, id := range []string{"{monitor}", "{webhook}", "{delivery}", "{rule}", theirs} {
				if strings.Contains(foreign.body, w.ids[theirs].Replace(id)) {
					t.Errorf("%s %s: %s tells of another owner", method, e.path, foreign.body)
				}
			}
			compared++
			// What the other owner has is as it was.
			for _, own := range []string{monitors + "/{monitor}", webhooks, rules + "/{rule}", social + "/stream/logs"} {
				if a := w.do(theirs, "GET", own, ""); a.status != 200 || strings.Contains(a.body, `"total":0`) || strings.Contains(a.body, "paused") {
					t.Errorf("after %s %s: %s is %d %s", method, e.path, own, a.status, a.body)
				}
			}
		}
	}
	if routes := len(enginehttp.Patterns(newWorld(t).handler)); compared < 50 || routes == 0 {
		t.Errorf("%d comparisons: want every route with an id", compared)
	}
}

func hasID(s string) bool {
	return slices.ContainsFunc([]string{"{monitor}", "{webhook}", "{delivery}", "{rule}"}, func(id string) bool { return strings.Contains(s, id) })
}

func lines(h http.Header) []string {
	var list []string
	for k, v := range h {
		list = append(list, k+": "+strings.Join(v, ", "))
	}
	slices.Sort(list)
	return list
}

// A list shows an owner's own and nothing else.
func TestListsAreOnesOwn(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{monitors, webhooks, rules, social + "/stream/logs", social + "/stream/billing-logs", "/v1/account/me"} {
		a := w.do(mine, "GET", path, "")
		if a.status != 200 || strings.Contains(a.body, theirs) || strings.Contains(a.body, w.ids[theirs].Replace("{monitor}")) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
