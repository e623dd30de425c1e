package enginehttp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginehttp"
)

// The document has exactly the routes, with the parameters of their paths.
func TestDocumentHasTheRoutes(t *testing.T) {
	routes := map[string]bool{}
	for _, p := range enginehttp.Patterns(newWorld(t).handler) {
		method, path := documentPath(p)
		routes[method+" "+path] = true
	}
	seen := map[string]string{}
	for path, item := range document().Paths.Map() {
		for method, op := range item.Operations() {
			if !routes[method+" "+path] {
				t.Errorf("%s %s is in the document and no route", method, path)
			}
			delete(routes, method+" "+path)
			if other := seen[op.OperationID]; other != "" || op.OperationID == "" {
				t.Errorf("%s and %s have the operationId %q", path, other, op.OperationID)
			}
			seen[op.OperationID] = path
			inPath := 0
			for _, p := range op.Parameters {
				if p.Value.In == "path" {
					inPath++
				}
				if p.Value.In == "path" && !strings.Contains(path, "{"+p.Value.Name+"}") {
					t.Errorf("%s %s has no {%s}", method, path, p.Value.Name)
				}
			}
			if n := strings.Count(path, "{"); n != inPath {
				t.Errorf("%s %s: %d of %d parameters of the path are described", method, path, inPath, n)
			}
		}
	}
	for r := range routes {
		t.Errorf("%s is not in the document", r)
	}
}

// The operationIds are the names in price lists and the billing log.
func TestDocumentNamesTheEndpoints(t *testing.T) {
	for pattern, name := range enginehttp.Names(newWorld(t).handler) {
		method, path := documentPath(pattern)
		op := document().Paths.Value(path).GetOperation(method)
		if op == nil || op.OperationID != name {
			t.Errorf("%s: the document does not call it %q", pattern, name)
		}
	}
}

// The document has exactly the fields of bodies that the handler takes.
func TestDocumentHasTheFields(t *testing.T) {
	for pattern, fields := range enginehttp.Fields(newWorld(t).handler) {
		method, path := documentPath(pattern)
		op := document().Paths.Value(path).GetOperation(method)
		var documented []string
		if op.RequestBody != nil {
			for name := range op.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties {
				documented = append(documented, name)
			}
		}
		slices.Sort(documented)
		slices.Sort(fields)
		if !slices.Equal(documented, fields) {
			t.Errorf("%s: documented %q, let through %q", pattern, documented, fields)
		}
	}
}

// The document has exactly the query parameters that the handler takes.
func TestDocumentHasTheParameters(t *testing.T) {
	for pattern, params := range enginehttp.Params(newWorld(t).handler) {
		method, path := documentPath(pattern)
		var documented []string
		for _, p := range document().Paths.Value(path).GetOperation(method).Parameters {
			if p.Value.In == "query" {
				documented = append(documented, p.Value.Name)
			}
		}
		slices.Sort(documented)
		slices.Sort(params)
		if !slices.Equal(documented, params) {
			t.Errorf("%s: documented %q, let through %q", pattern, documented, params)
		}
	}
}

// The document allows the same values of since as the WebSocket endpoint takes: a client of a
// fleet resumes with <epoch>.<seq>.
func TestDocumentHasTheFormsOfSince(t *testing.T) {
	w := newWorld(t, func(s *setup) {
		s.engine.WebSocket = &wshub.Options{Authenticate: enginehttp.WebSocketAuth(nobody{})}
	})
	since := document().Paths.Value(social+"/stream").Get.Parameters.GetByInAndName("query", "since").Schema.Value
	for text, taken := range map[string]bool{"0": true, "41": true, "7.41": true, "": false, "-1": false, "x": false, "7.": false, ".41": false, "1.2.3": false} {
		status := http.StatusUnprocessableEntity
		if taken {
			status = http.StatusUpgradeRequired
		}
		if a := w.send(request("GET", social+"/stream?since="+text, "")); a.status != status {
			t.Errorf("since=%s: %d %s, want %d", text, a.status, a.body, status)
		}
		if err := since.VisitJSON(text); (err == nil) != taken {
			t.Errorf("since=%s in the document: %v", text, err)
		}
	}
}

// Options.Segment is in the paths of the routes and of the document.
func TestSegment(t *testing.T) {
	w := newWorld(t)
	h, err := enginehttp.New(w.engine, enginehttp.Options{Auth: w.keys, Segment: "bluesky"})
	if err != nil {
		t.Fatal(err)
	}
	w.handler, w.checked = h, false
	for path, want := range map[string]int{"/v1/bluesky/stream/monitors": http.StatusOK, "/v1/social/stream/monitors": http.StatusNotFound, "/v1/account/me": http.StatusOK} {
		if a := w.do(mine, "GET", path, ""); a.status != want {
			t.Errorf("%s: %d, want %d", path, a.status, want)
		}
	}
	a := w.do(mine, "GET", "/v1/openapi.json", "")
	if strings.Contains(a.body, `"/v1/social/`) || !strings.Contains(a.body, `"/v1/bluesky/stream/monitors"`) {
		t.Error("the document has the paths of another segment")
	}
}
