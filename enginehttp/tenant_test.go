package enginehttp_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/streamwatch/streamwatch/enginehttp"
)

// narrowed are requests with an id to routes that endpoints has without one.
var narrowed = []endpoint{
	{pattern: "GET /v1/social/stream/logs", path: social + "/stream/logs?monitor_id={monitor}", status: 200, field: `"total":1`},
	{pattern: "GET /v1/social/stream/billing-logs", path: social + "/stream/billing-logs?monitor_id={monitor}", status: 200, field: `"total":0`},
	{pattern: "GET /v1/social/stream/logs", path: social + "/stream/logs?rule_id={rule}", status: 200, field: `"total":0`},
	{pattern: "GET /v1/social/stream/billing-logs", path: social + "/stream/billing-logs?rule_id={rule}", status: 200, field: `"total":0`},
	{pattern: "GET /v1/social/stream/webhooks", path: webhooks + "?rule_id={rule}", status: 200, field: `"total":0`},
	{pattern: "GET /v1/social/stream/logs", path: social + "/stream/logs?webhook_id={webhook}", status: 200, field: `"total":1`},
	{pattern: "POST /v1/social/stream/webhooks", path: webhooks, body: `{"rule_id":"{rule}","url":"https://hooks.example.com/two"}`, status: 201, field: `"secret":"whsec_`},
}

// idNames are the parameters and fields that have the id of an owner's record.
var idNames = map[string]string{"monitor_id": "{monitor}", "webhook_id": "{webhook}", "delivery_id": "{delivery}", "rule_id": "{rule}", "key_id": "{key}"}

// An id of another owner is answered as an unknown one is, byte by byte: on every
// route, with every method, and wherever the id is: in the path, the query string or
// the body.
func TestForeignIsUnknown(t *testing.T) {
	methods := []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"}
	compared := map[string]bool{}
	for _, e := range append(slices.Clone(endpoints), narrowed...) {
		if !strings.ContainsAny(e.path+e.body, "{") || !hasID(e.path+e.body) {
			continue
		}
		for _, method := range methods {
			if testing.Short() && method != e.method() && method != "DELETE" {
				continue
			}
			w := newWorld(t)
			pattern := ""
			ask := func(replace func(string) string) answer {
				r := request(method, replace(e.path), replace(e.body))
				defer func() { pattern = r.Pattern }()
				r.Header.Set("X-Api-Key", w.key[mine])
				a := w.send(r)
				for _, h := range []string{"X-Request-Id", "X-Ratelimit-Remaining", "X-Ratelimit-Reset"} { // count requests
					a.header.Del(h)
				}
				return a
			}
			foreign := ask(w.ids[theirs].Replace)
			unknown := ask(strings.NewReplacer("{monitor}", "mon_unknown", "{webhook}", "whk_unknown", "{delivery}", "dlv_unknown", "{rule}", "rul_unknown", "{key}", "key_unknown").Replace)
			if foreign.status != unknown.status || foreign.body != unknown.body || !slices.Equal(lines(foreign.header), lines(unknown.header)) {
				t.Errorf("%s %s: foreign %d %v %s, unknown %d %v %s", method, e.path, foreign.status, foreign.header, foreign.body, unknown.status, unknown.header, unknown.body)
			}
			if method == e.method() && foreign.status == e.status && !strings.Contains(e.path, "?") {
				t.Errorf("%s %s: %d for another owner's id", method, e.path, foreign.status)
			}
			for _, id := range []string{"{monitor}", "{webhook}", "{delivery}", "{rule}", "{key}", theirs} {
				if strings.Contains(foreign.body, w.ids[theirs].Replace(id)) {
					t.Errorf("%s %s: %s tells of another owner", method, e.path, foreign.body)
				}
			}
			for name, id := range idNames {
				if strings.Contains(e.path+e.body, id) {
					compared[pattern+" "+name] = true
				}
			}
			// The other owner's records are unchanged.
			for _, own := range []string{monitors + "/{monitor}", webhooks, rules + "/{rule}", social + "/stream/logs", "/v1/account/keys"} {
				if a := w.do(theirs, "GET", own, ""); a.status != 200 || strings.Contains(a.body, `"total":0`) || strings.Contains(a.body, "paused") || strings.Contains(a.body, "revoked\"") {
					t.Errorf("after %s %s: %s is %d %s", method, e.path, own, a.status, a.body)
				}
			}
			// The owner's own ids work.
			if method == e.method() {
				if own := ask(w.ids[mine].Replace); own.status != e.status || !strings.Contains(own.body, e.field) {
					t.Errorf("%s %s: %d %s for one's own", method, e.path, own.status, own.body)
				}
			}
		}
	}
	// Every route that takes an id was tested; the WebSocket endpoint is in
	// TestWebSocketThroughTheHandler.
	for _, pattern := range enginehttp.Patterns(newWorld(t).handler) {
		method, path := documentPath(pattern)
		if pattern == "GET "+social+"/stream" {
			continue
		}
		for name := range taken(document().Paths.Value(path).GetOperation(method)) {
			if idNames[name] != "" && !compared[pattern+" "+name] {
				t.Errorf("%s was not asked with another owner's %s", pattern, name)
			}
		}
	}
}

// taken returns the parameters and fields that an operation takes, and where they are.
func taken(op *openapi3.Operation) map[string]string {
	names := map[string]string{}
	for _, p := range op.Parameters {
		if p.Value.In != "header" { // headers have tests of their own
			names[p.Value.Name] = p.Value.In
		}
	}
	if op.RequestBody != nil {
		for name := range op.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties {
			names[name] = "body"
		}
	}
	return names
}

func hasID(s string) bool {
	return slices.ContainsFunc([]string{"{monitor}", "{webhook}", "{delivery}", "{rule}", "{key}"}, func(id string) bool { return strings.Contains(s, id) })
}

func lines(h http.Header) []string {
	var list []string
	for k, v := range h {
		list = append(list, k+": "+strings.Join(v, ", "))
	}
	slices.Sort(list)
	return list
}

// A list shows the records of the key's owner and no others.
func TestListsAreOnesOwn(t *testing.T) {
	w := newWorld(t)
	for _, path := range []string{monitors, webhooks, rules, social + "/stream/logs", social + "/stream/billing-logs", "/v1/account/me"} {
		a := w.do(mine, "GET", path, "")
		if a.status != 200 || strings.Contains(a.body, theirs) || strings.Contains(a.body, w.ids[theirs].Replace("{monitor}")) {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}
