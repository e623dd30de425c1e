package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// What makes deliveries of events again looks up those events, however many others are past
// their retention and not yet removed: all writes wait for it.
func TestNoWriteListsWhatIsPastItsRetention(t *testing.T) {
	t.Parallel()
	s, _ := open(t, sqlite.Options{})
	bind(t, s, acme, "a")
	b := commitAt(t, s, start, newEvents(acme, "1", "2")...)
	_, err := s.Ports().Outbox.Reopen(t.Context(), deliver.ReopenRequest{Owner: acme.Owner, IDs: []string{b.Deliveries[0].ID}, Due: start})
	must(t, err)
	r := deliver.Replay{ID: "r", Owner: acme.Owner, SourceID: acme.ID, EndpointID: "a", Last: 2, State: deliver.ReplayRunning, Due: start, CreatedAt: start}
	must(t, s.Ports().Replays.Start(t.Context(), r))
	_, _, err = s.Ports().Replays.Step(t.Context(), deliver.ReplayStep{Owner: r.Owner, EndpointID: "a", ID: r.ID, Limit: 1, Now: start, DeliverBy: start})
	must(t, err)
	plans, err := s.Plans(t.Context())
	must(t, err)
	asked := 0
	for query, plan := range plans {
		// Retention itself takes a limited number from the list.
		if !strings.HasPrefix(query, "SELECT") || !strings.Contains(query, "settled_at <=") || strings.HasPrefix(query, "SELECT event FROM settled") {
			continue
		}
		asked++
		if strings.Contains(plan, "settled_by_age") {
			t.Errorf("%s\nlooks at all that was settled long ago:\n%s", query, plan)
		}
	}
	want(t, "queries that ask for the retention", asked, 2)
}

// A step of a replay passes over a part of what is past its retention and not yet removed:
// all writes wait for it.
func TestReplayPassesOverThePastInSteps(t *testing.T) {
	t.Parallel()
	s, c := open(t, sqlite.Options{Retention: time.Hour})
	const past, most = 5000, 3000
	var evs []deliver.Event
	for i := range past {
		evs = append(evs, newEvent(acme, fmt.Sprint("past ", i)))
	}
	commitAt(t, s, start, evs...)
	c.Advance(time.Hour)
	commitAt(t, s, start, newEvent(acme, "new"))
	bind(t, s, acme, "a")
	r := deliver.Replay{ID: "r", Owner: acme.Owner, SourceID: acme.ID, EndpointID: "a", Last: past + 1, State: deliver.ReplayRunning, Due: start, CreatedAt: start}
	must(t, s.Ports().Replays.Start(t.Context(), r))
	var sent []deliver.Delivery
	for r.State == deliver.ReplayRunning {
		now, made, err := s.Ports().Replays.Step(t.Context(), deliver.ReplayStep{Owner: r.Owner, EndpointID: "a", ID: r.ID, Cursor: r.Cursor, Limit: 1, Now: start, DeliverBy: start})
		must(t, err)
		if now.Cursor <= r.Cursor || now.Cursor > r.Cursor+most {
			t.Fatalf("a step went from event %d to %d, want up to %d further", r.Cursor, now.Cursor, most)
		}
		r, sent = now, append(sent, made...)
	}
	want(t, "sent", tweetIDs(sent), "new")
	want(t, "the last number", r.Cursor, past+1)
	want(t, "removed", r.Removed, past)
}

// What a call about records costs must not grow with the number of records.
func TestRecordsAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	s, _ := open(t, sqlite.Options{})
	m := record.Key{Kind: record.Monitor, ID: acme.ID}
	apply(t, s, createWithEndpoint(acme.ID))
	apply(t, s, record.Change{
		Put:   []record.Record{{Key: record.Key{Kind: record.Endpoint, ID: "endpoint m1"}, Owner: "acme", Version: 1, Name: "other"}},
		Notes: []record.Note{{Ref: record.Ref{Key: m}}},
	})
	commitAt(t, s, start, newEvents(acme, "1")...)
	_, err := s.Ports().State.Swap(t.Context(), record.Name{Space: "a", Owner: "acme", ID: "1"}, 0, []byte("a"), 1e9)
	must(t, err)
	for _, q := range []record.Query{{}, {Status: "active"}, {Parent: m}, {Parent: m, Status: "active"}} {
		q.Owner, q.Kind, q.Limit = "acme", record.Endpoint, 1
		must(t, s.ReadOnWriter(t.Context(), q))
	}
	apply(t, s, record.Change{Delete: []record.Ref{{Key: m, Owner: "acme"}}})
	plans, err := s.Plans(t.Context())
	must(t, err)

	for query, plan := range plans {
		for line := range strings.Lines(plan) {
			switch strings.TrimSpace(line) {
			case "SCAN records", "SCAN r", "SCAN record_sums", "SCAN feed", "SCAN state":
				t.Errorf("%s\nreads a whole table:\n%s", query, plan)
			}
		}
	}
	const child = " AND parent_kind = ? AND parent = ? AND parent <> ''"
	const children = "INDEX records_of_parent (owner=? AND parent_kind=? AND parent=? AND kind=?"
	for _, row := range []struct{ end, plan string }{
		{"FROM records WHERE kind = ? AND id = ? AND owner = ?", "INDEX sqlite_autoindex_records_1 (kind=? AND id=?)"},
		{"FROM records WHERE kind = ? AND lookup = ?", "INDEX records_by_lookup (kind=? AND lookup=?)"},
		{"FROM records WHERE +kind = ? AND n > ? ORDER BY n LIMIT ?", "INTEGER PRIMARY KEY (rowid>?)"},
		{"FROM records WHERE owner = ? AND kind = ? ORDER BY n LIMIT ? OFFSET ?", "INDEX records_of_owner (owner=? AND kind=?)"},
		{"FROM records WHERE owner = ? AND kind = ? AND status = ? ORDER BY n LIMIT ? OFFSET ?", "INDEX records_by_status (owner=? AND kind=? AND status=?)"},
		{"FROM records WHERE owner = ? AND kind = ?" + child + " ORDER BY +n LIMIT ? OFFSET ?", children + ")"},
		{"FROM records WHERE owner = ? AND kind = ? AND status = ?" + child + " ORDER BY +n LIMIT ? OFFSET ?", children + " AND status=?)"},
		{"r.status = 'active' ORDER BY r.n", children + " AND status=?)"}, // the receivers of an event
		// Totals of pages, and limits.
		{"sum(count), 0) AS BIGINT) FROM record_sums WHERE owner = ? AND kind = ?", "PRIMARY KEY (owner=? AND kind=?)"},
		{"sum(price), 0) AS BIGINT) FROM record_sums WHERE owner = ? AND kind = ? AND status = ?", "PRIMARY KEY (owner=? AND kind=? AND status=?)"},
		{"sum(1), 0) AS BIGINT) FROM records WHERE owner = ? AND kind = ?" + child, children + ")"},
		{"sum(1), 0) AS BIGINT) FROM records WHERE owner = ? AND kind = ? AND status = ?" + child, children + " AND status=?)"},
	} {
		asked := 0
		for query, plan := range plans {
			if !strings.HasSuffix(query, row.end) {
				continue
			}
			asked++
			if !strings.Contains(plan, row.plan) || strings.Contains(query, "ORDER BY n") && strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s\nhas the plan\n%swant %s", query, plan, row.plan)
			}
		}
		want(t, "there are queries "+row.end, asked > 0, true)
	}
}

// A page of an endpoint's log must not cost more with the number of the others' deliveries.
func TestDeliveriesOfAnEndpointAreFoundByIndexes(t *testing.T) {
	t.Parallel()
	s, _ := open(t, sqlite.Options{})
	bind(t, s, acme, "a")
	commitAt(t, s, start, newEvents(acme, "1", "2", "3")...)
	log := s.OnWriter().Log
	for _, asc := range []bool{false, true} {
		q := deliver.LogQuery{Owner: acme.Owner, EndpointID: "a", Asc: asc, PageSize: 1}
		page, err := log.Deliveries(t.Context(), q)
		must(t, err)
		q.Cursor = page.Next
		_, err = log.Deliveries(t.Context(), q)
		must(t, err)
	}
	_, err := log.Waiting(t.Context(), "a", "b")
	must(t, err)
	plans, err := s.Plans(t.Context())
	must(t, err)
	for _, row := range []struct{ part, plan string }{
		{"AND d.endpoint_id = ?3 ORDER BY d.n ASC", "SEARCH d USING INDEX deliveries_by_endpoint (endpoint_id=?)\nSEARCH e USING INTEGER PRIMARY KEY (rowid=?)\n"},
		{"AND d.endpoint_id = ?3 ORDER BY d.n DESC", "SEARCH d USING INDEX deliveries_by_endpoint (endpoint_id=?)\nSEARCH e USING INTEGER PRIMARY KEY (rowid=?)\n"},
		{"AND d.n > ? ORDER BY d.n ASC", "SEARCH d USING INDEX deliveries_by_endpoint (endpoint_id=? AND rowid>?)\nSEARCH e USING INTEGER PRIMARY KEY (rowid=?)\n"},
		{"AND d.n < ? ORDER BY d.n DESC", "SEARCH d USING INDEX deliveries_by_endpoint (endpoint_id=? AND rowid<?)\nSEARCH e USING INTEGER PRIMARY KEY (rowid=?)\n"},
		{"min(n) AS first", "SEARCH deliveries USING COVERING INDEX deliveries_of_endpoint (endpoint_id=? AND due_at>?)"},
	} {
		asked := 0
		for query, plan := range plans {
			if !strings.Contains(query, row.part) {
				continue
			}
			if asked++; !strings.Contains(plan, row.plan) || strings.Contains(plan, "TEMP B-TREE FOR ORDER BY") {
				t.Errorf("%s\nhas the plan\n%swant\n%s", query, plan, row.plan)
			}
		}
		want(t, "there are queries with "+row.part, asked > 0, true)
	}
}
