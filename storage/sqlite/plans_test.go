package sqlite_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// What makes deliveries of events again looks up those events, however many others are past
// their retention and not yet removed: all writes wait for it.
func TestNoWriteListsWhatIsPastItsRetention(t *testing.T) {
	t.Parallel()
	s, _ := open(t, sqlite.Options{})
	bind(t, s, acme, "a")
	b := commitAt(t, s, start, newEvents(acme, "1", "2")...)
	_, err := s.Outbox().Reopen(t.Context(), deliver.ReopenRequest{Owner: acme.Owner, IDs: []string{b.Deliveries[0].ID}, Due: start})
	must(t, err)
	r := deliver.Replay{ID: "r", Owner: acme.Owner, SourceID: acme.ID, EndpointID: "a", Last: 2, State: deliver.ReplayRunning, Due: start, CreatedAt: start}
	must(t, s.Replays().Start(t.Context(), r))
	_, _, err = s.Replays().Step(t.Context(), deliver.ReplayStep{Owner: r.Owner, EndpointID: "a", ID: r.ID, Limit: 1, Now: start, DeliverBy: start})
	must(t, err)
	plans, err := s.Plans(t.Context())
	must(t, err)
	asked := 0
	for query, plan := range plans {
		if !strings.HasPrefix(query, "SELECT") || !strings.Contains(query, "settled_at <=") {
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
	must(t, s.Replays().Start(t.Context(), r))
	var sent []deliver.Delivery
	for r.State == deliver.ReplayRunning {
		now, made, err := s.Replays().Step(t.Context(), deliver.ReplayStep{Owner: r.Owner, EndpointID: "a", ID: r.ID, Cursor: r.Cursor, Limit: 1, Now: start, DeliverBy: start})
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
