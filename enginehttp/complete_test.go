package enginehttp_test

import (
	"strings"
	"testing"
)

// Every parameter and every field of a body is refused somewhere in the table, on
// each route that takes it. Paths may have any text for what an owner has: it is
// unknown at worst.
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
