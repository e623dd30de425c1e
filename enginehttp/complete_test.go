package enginehttp_test

import (
	"strings"
	"testing"
)

// badFields has a bad value of every parameter and every field of a body, on each
// route that takes it. The ids of an owner's records in a path are exempt: any text
// is allowed there, and is an unknown id at worst.
func TestEveryFieldIsTested(t *testing.T) {
	w := newWorld(t)
	w.checked = false
	tested := map[string]bool{}
	for _, row := range badFields {
		r := request(row.method, w.ids[mine].Replace(row.path), "")
		w.send(r) // which finds the route
		name, _, _ := strings.Cut(row.text, " ")
		tested[r.Pattern+" "+name] = true
	}
	for _, e := range endpoints {
		method, path := documentPath(e.pattern)
		for name, in := range taken(document().Paths.Value(path).GetOperation(method)) {
			if !tested[e.pattern+" "+name] && (in != "path" || idNames[name] == "") {
				t.Errorf("%s: no row has a bad %s", e.pattern, name)
			}
		}
	}
}
