package sqlite_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// Deliveries are found by id however many events lie between them or were removed.
func TestDeliveriesAreFoundByID(t *testing.T) {
	t.Parallel()
	s, _ := open(t, sqlite.Options{MaxEvents: 2})
	old := commitAt(t, s, start, handled(acme, "old", "a")).Deliveries[0]
	b := &detect.Batch{}
	for i := range 8192 {
		b.Events = append(b.Events, newEvent(acme, fmt.Sprint(i)))
	}
	commit(t, s, b)
	young := commitAt(t, s, start, handled(acme, "young", "a")).Deliveries[0]
	want(t, "events", tweets(eventsOf(t, s, "acme")), fmt.Sprintf("1:old %d:young", young.Event.Seq))
	for _, d := range []deliver.Delivery{old, young} {
		must(t, s.Ports().Outbox.Settle(t.Context(),
			deliver.Settlement{DeliveryID: "unknown", Attempt: &deliver.Attempt{N: 1}, State: deliver.StateFailed},
			deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateRetrying, Due: start},
		))
		e, err := s.Ports().Log.Delivery(t.Context(), "acme", d.ID)
		must(t, err)
		want(t, "tweet", e.Event.TweetID, d.Event.TweetID)
		want(t, "state", e.State, deliver.StateRetrying)
		want(t, "attempts", len(e.Log), 1)
	}
	_, err := s.Ports().Log.Delivery(t.Context(), "acme", "unknown")
	wantErr(t, err, deliver.ErrDeliveryNotFound)
}

// An event with more than maxDeliveries deliveries is refused, and leaves no trace.
func TestTooManyDeliveriesOfAnEvent(t *testing.T) {
	t.Parallel()
	s, _ := open(t, sqlite.Options{})
	ev := newEvent(acme, "1")
	for i := range 1<<16 + 1 {
		ev.Handlers = append(ev.Handlers, fmt.Sprint(i))
	}
	err := s.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Events: []deliver.Event{ev}}})
	if err == nil || !strings.Contains(err.Error(), "want at most 65536") {
		t.Errorf("error = %v, want one about 65536", err)
	}
	want(t, "sequence number of the next", seqs(commitAt(t, s, start, newEvent(acme, "1")).Events), "1")
}
