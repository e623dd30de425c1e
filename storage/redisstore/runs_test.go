package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// Runs of events, and what is left of them after a removal, show the same events as a
// store that keeps each event by itself: whatever the owners, the lengths of the ids, the
// known events, and the order in which they are settled.
func TestRunsShowTheSameEvents(t *testing.T) {
	t.Parallel()
	const most = 150
	s, _, clock := open(t, redisstore.Options{MaxEvents: most, Retention: 40 * time.Minute})
	model := memory.New(memory.Options{MaxEvents: most, Retention: 40 * time.Minute, Now: clock.Now})
	stores := []storage.Store{s, model}
	rnd := rand.New(rand.NewPCG(1, 2))
	owners := []string{"acme", "globex", ""}
	ctx, made := t.Context(), 0
	removeAll := func() {
		for range 6 {
			for _, s := range stores {
				must(t, s.Ports().Outbox.Settle(ctx))
			}
		}
	}
	var unsettled []deliver.Delivery
	for step := range testsize.Of(30, 30, 150) {
		var evs []deliver.Event
		owner, handled := owners[rnd.IntN(3)], rnd.IntN(3) == 0
		for range rnd.IntN(1 + []int{1, 20, 200}[rnd.IntN(3)]) {
			if rnd.IntN(30) == 0 {
				owner = owners[rnd.IntN(3)]
			}
			ev := newEvent(source(owner, "m"), fmt.Sprint(made))
			if made++; rnd.IntN(40) == 0 {
				ev.ID = strings.Repeat("i", rnd.IntN(4)) + fmt.Sprint(made)
			}
			if rnd.IntN(40) == 0 && len(evs) > 0 {
				ev.ID = evs[rnd.IntN(len(evs))].ID // known
			}
			if handled && rnd.IntN(4) > 0 {
				ev.Handlers = []string{"a", "b"}[:1+rnd.IntN(2)]
			}
			evs = append(evs, ev)
		}
		var made [2]string
		for i, s := range stores {
			b := &detect.Batch{Events: append([]deliver.Event(nil), evs...), DeliverBy: clock.Now()}
			must(t, s.Ports().Journal.Commit(ctx, []*detect.Batch{b}))
			for _, ev := range b.Events {
				made[i] += fmt.Sprint(" ", ev.Seq)
			}
			if i == 0 {
				unsettled = append(unsettled, b.Deliveries...)
			}
		}
		want(t, "numbers", made[0], made[1])
		removeAll()
		clock.Advance(time.Duration(rnd.Int64N(int64(6 * time.Minute))))
		rnd.Shuffle(len(unsettled), func(i, k int) { unsettled[i], unsettled[k] = unsettled[k], unsettled[i] })
		for n := rnd.IntN(1 + len(unsettled)); n > 0; n-- {
			d := unsettled[0]
			unsettled = unsettled[1:]
			for _, s := range stores {
				must(t, s.Ports().Outbox.Settle(ctx, deliver.Settlement{DeliveryID: d.ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered}))
			}
			clock.Advance(time.Millisecond)
		}
		removeAll()
		for _, owner := range owners {
			after, limit := uint64(rnd.IntN(1+lastOf(t, model, owner))), 1+rnd.IntN(200)
			var shown [2]string
			for i, s := range stores {
				found, err := s.Ports().Log.Events(ctx, owner, after, limit)
				must(t, err)
				for _, ev := range found {
					shown[i] += fmt.Sprintf(" %d:%s:%s", ev.Seq, ev.ID, ev.Body)
				}
			}
			if shown[0] != shown[1] {
				t.Fatalf("step %d: %d events of %q after %d:\n%s\nwant\n%s", step, limit, owner, after, shown[0], shown[1])
			}
		}
	}
}

// lastOf returns the number of an owner's last event.
func lastOf(t *testing.T, s storage.Store, owner string) int {
	t.Helper()
	evs, err := s.Ports().Log.Events(t.Context(), owner, 0, 100_000)
	must(t, err)
	if len(evs) == 0 {
		return 0
	}
	return int(evs[len(evs)-1].Seq)
}

// Reading begins anywhere in a run, the last of its events included.
func TestEventsAreReadFromAnyNumber(t *testing.T) {
	s, _, _ := open(t, redisstore.Options{})
	const n = 130 // two full runs, and one that is not
	events := make([]deliver.Event, n)
	for i := range events {
		events[i] = newEvent(acme, fmt.Sprint(i))
	}
	commit(t, s, events...)
	for after := range uint64(n) {
		found, err := s.Ports().Log.Events(t.Context(), "acme", after, 1)
		must(t, err)
		if len(found) != 1 || found[0].Seq != after+1 {
			t.Fatalf("after %d: %v, want the next one", after, found)
		}
	}
}
