package enginehttp_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/enginehttp"
	"github.com/streamwatch/streamwatch/fetcher"
)

// The OpenAPI document has exactly the routes, with the parameters of their paths, but the
// WebSocket's, which the AsyncAPI document has.
func TestDocumentHasTheRoutes(t *testing.T) {
	routes := map[string]bool{}
	for _, p := range enginehttp.Patterns(newWorld(t).handler) {
		method, path := documentPath(p)
		routes[method+" "+path] = true
	}
	channel := channel()
	delete(routes, channel.Bindings.WS.Method+" "+channel.Address)
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
		if path == stream {
			continue
		}
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
		if path == stream {
			continue
		}
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
		if path == stream {
			documented = slices.Collect(maps.Keys(channel().Bindings.WS.Query.Properties))
		} else {
			for _, p := range document().Paths.Value(path).GetOperation(method).Parameters {
				if p.Value.In == "query" {
					documented = append(documented, p.Value.Name)
				}
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
	since := channel().Bindings.WS.Query.Properties["since"].Value
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
	for document, path := range map[string]string{"/v1/openapi.json": `"/v1/bluesky/stream/monitors"`, "/v1/asyncapi.json": `"/v1/bluesky/stream"`} {
		a := w.do(mine, "GET", document, "")
		if strings.Contains(a.body, `"/v1/social/`) || !strings.Contains(a.body, path) {
			t.Errorf("%s has the paths of another segment", document)
		}
	}
}

// Every operation is described, with an example of each body. An example has only fields that the
// document names, and is valid.
func TestDocumentHasExamples(t *testing.T) {
	check := func(op *openapi3.Operation, content openapi3.Content) {
		t.Helper()
		media := content.Get("application/json")
		if media == nil {
			return
		}
		values := []any{media.Example}
		for _, e := range media.Examples {
			values = append(values, e.Value.Value)
		}
		if values = slices.DeleteFunc(values, func(v any) bool { return v == nil }); len(values) != 1 {
			t.Errorf("%s: %d examples of a body, want one", op.OperationID, len(values))
		}
		for _, v := range values {
			if err := media.Schema.Value.VisitJSON(v); err != nil {
				t.Errorf("%s: the example is not valid: %v", op.OperationID, err)
			}
		}
	}
	ops := []*openapi3.Operation{detected()}
	for _, item := range document().Paths.Map() {
		ops = append(ops, slices.Collect(maps.Values(item.Operations()))...)
	}
	for _, op := range ops {
		if op.Summary == "" || op.Description == "" || op.Summary == op.Description {
			t.Errorf("%s is not described", op.OperationID)
		}
		if op.RequestBody != nil {
			check(op, op.RequestBody.Value.Content)
		}
		for status, r := range op.Responses.Map() {
			if status[0] == '2' {
				check(op, r.Value.Content)
			}
		}
	}
}

// detected is the webhook's request in the document.
func detected() *openapi3.Operation { return document().Webhooks["tweet.detected"].Post }

// A webhook gets the headers and the fields that the document names.
func TestDocumentHasTheWebhook(t *testing.T) {
	hook := make(keeping, 1)
	w := newWorld(t, func(s *setup) { s.engine.Webhook = webhook.Config{Transport: hook} })
	if a := w.do(mine, "POST", webhooks+"/test", `{"monitor_id":"{monitor}"}`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	got := <-hook
	var sent, documented []string
	for name := range got.Header {
		if name != "Content-Type" && name != "User-Agent" {
			sent = append(sent, name)
		}
	}
	for _, p := range detected().Parameters {
		documented = append(documented, http.CanonicalHeaderKey(p.Value.Name))
		if v := got.Header.Get(p.Value.Name); p.Value.Schema.Value.VisitJSON(v) != nil {
			t.Errorf("%s: %q is not as the document has it", p.Value.Name, v)
		}
	}
	slices.Sort(sent)
	slices.Sort(documented)
	if !slices.Equal(sent, documented) {
		t.Errorf("headers %q, in the document %q", sent, documented)
	}
	schema := detected().RequestBody.Value.Content.Get("application/json").Schema.Value
	for _, kind := range []deliver.SourceKind{deliver.SourceMonitor, deliver.SourceRule} {
		var body map[string]any
		if err := json.Unmarshal(rocket(kind, "id").Body, &body); err != nil {
			t.Fatal(err)
		}
		for name := range body {
			if schema.Properties[name] == nil {
				t.Errorf("the body has %s, the document has not", name)
			}
		}
		for _, name := range schema.Required {
			if _, ok := body[name]; !ok {
				t.Errorf("the body lacks %s", name)
			}
		}
	}
	example, err := json.Marshal(detected().RequestBody.Value.Content.Get("application/json").Example)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := deliver.ParseBody(example); err != nil {
		t.Error(err)
	}
}

// keeping keeps the requests to a webhook, and answers 200.
type keeping chan *http.Request

func (k keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	k <- r
	return &http.Response{StatusCode: 200, Body: http.NoBody, Request: r}, nil
}

// rocket is an event of a monitor or rule, with the body that a webhook gets.
func rocket(kind deliver.SourceKind, id string) deliver.Event {
	at := time.Now().UTC()
	e := deliver.Event{ID: deliver.EventID(id, "77"), Source: deliver.Source{Kind: kind, ID: id, Owner: mine, Name: "n"}, TweetID: "77", AuthorUsername: "nasa",
		TweetURL: "https://example.com/77", Platform: "p", PublishedAt: at, DetectedAt: at}
	e.Body = deliver.AppendBody(nil, &e, &fetcher.Tweet{ID: "77", Text: "Rocket"})
	return e
}
