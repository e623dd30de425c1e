package storetest

import (
	"github.com/streamwatch/streamwatch/deliver"
)

// wayLogCases test queries for a kind of source, for LogQuery.Via, and for an endpoint. The store has a rule and a
// monitor, an endpoint with an id similar to a handler's, and handlers with names similar to a
// hub's.
func wayLogCases() []storeCase {
	type query = deliver.LogQuery
	rule := storeSource("acme", "r1")
	rule.Kind = deliver.SourceRule
	const hub = "websocket/acme"
	var cases []storeCase
	for _, row := range []struct {
		name  string
		q     query
		want  string // tweet and endpoint
		total int
	}{
		{"one kind of source", query{SourceKind: deliver.SourceMonitor}, "1handlers:x 1handler:a 1handler:websocket/acme", 3},
		{"the other kind of source", query{SourceKind: deliver.SourceRule}, "2handler:websockets 2handler:websocket/acme 3handler:a", 3},
		{"webhooks alone", query{Via: deliver.ViaWebhook}, "1handlers:x", 1},
		{"handlers alone", query{Via: deliver.ViaHandler}, "1handler:a 2handler:websockets 3handler:a", 3},
		{"WebSocket clients alone", query{Via: deliver.ViaWebSocket}, "1handler:websocket/acme 2handler:websocket/acme", 2},
		{"a way of one kind of source", query{SourceKind: deliver.SourceRule, Via: deliver.ViaWebSocket}, "2handler:websocket/acme", 1},
		{"a way of one source", query{SourceID: "r1", Via: deliver.ViaHandler}, "2handler:websockets 3handler:a", 2},
		{"a way in one state", query{State: deliver.StateDelivered, Via: deliver.ViaHandler}, "3handler:a", 1},
		{"a page of a way", query{Via: deliver.ViaHandler, Page: 2, PageSize: 2}, "3handler:a", 3},
		{"one endpoint alone", query{EndpointID: "handlers:x"}, "1handlers:x", 1},
		{"one handler of several alone", query{EndpointID: deliver.HandlerEndpoint("a")}, "1handler:a 3handler:a", 2},
		{"a page of one handler", query{EndpointID: deliver.HandlerEndpoint("a"), Page: 2, PageSize: 1}, "3handler:a", 2},
		{"an endpoint in one state", query{EndpointID: deliver.HandlerEndpoint("a"), State: deliver.StatePending}, "1handler:a", 1},
		{"nothing of an endpoint never seen", query{EndpointID: "handlers"}, "", 0},
		{"nothing of another owner's endpoint", query{Owner: "globex", EndpointID: "handlers:x"}, "", 0},
		{"nothing of a kind in another owner's log", query{Owner: "globex", SourceKind: deliver.SourceMonitor}, "", 0},
	} {
		row.q.Asc = true
		if row.q.Owner == "" {
			row.q.Owner = "acme"
		}
		cases = append(cases, storeCase{name: "Deliveries shows " + row.name, run: func(t *storeTest) {
			t.bind(acme, "handlers:x")
			t.commitDue(t.start, newEvent(acme, "1", "a", hub))
			t.commitDue(t.start, newEvent(rule, "2", "websockets", hub))
			last := t.commitDue(t.start, newEvent(rule, "3", "a")).Deliveries
			t.settle(attempted(last[0].ID, 1, deliver.StateDelivered, t.start))
			page, err := t.store.Ports().Log.Deliveries(t.Context(), row.q)
			t.ok(err, "Log.Deliveries")
			got := joined(page.Entries, func(e deliver.LogEntry) string { return e.Event.TweetID + e.EndpointID })
			expect(t, got, row.want, "Deliveries has to show %s", row.name)
			expect(t, page.Total, row.total, "Total has to count all deliveries that match, not those on the page")
		}})
	}
	return cases
}
