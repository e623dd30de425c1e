package memory_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// history is a store under test, with the deliveries of the tweets 1, 2, and so on.
type history struct {
	*testing.T
	s  *memory.Store
	c  *clock
	ds []deliver.Delivery
}

// open commits n tweets with one delivery each.
func (h *history) open(n int) {
	for range n {
		ev := handled(acme, fmt.Sprint(len(h.ds)+1), "a")
		h.ds = append(h.ds, commitAt(h.T, h.s, start, ev).Deliveries...)
	}
}

// end settles the deliveries of these tweets as delivered.
func (h *history) end(tweets ...int) {
	for _, n := range tweets {
		must(h.T, h.s.Ports().Outbox.Settle(h.Context(), deliver.Settlement{
			DeliveryID: h.ds[n-1].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered,
		}))
	}
}

func (h *history) wait(d time.Duration) { h.c.Advance(d) }

func TestRetention(t *testing.T) {
	for _, row := range []struct {
		name string
		opts memory.Options
		do   func(h *history)
		want string
	}{
		{"7 days by default", memory.Options{}, func(h *history) {
			h.open(2)
			h.end(1)
			h.wait(1)
			h.end(2)
			h.wait(7*24*time.Hour - 1)
		}, "2:2"},
		{"no more than the maximum", memory.Options{MaxEvents: 3}, func(h *history) {
			h.open(3)
			h.end(1, 2, 3)
			h.open(2)
		}, "3:3 4:4 5:5"},
		{"open deliveries are never too many", memory.Options{MaxEvents: 3}, func(h *history) {
			h.open(5)
		}, "1:1 2:2 3:3 4:4 5:5"},
		{"what ends beyond the maximum goes", memory.Options{MaxEvents: 3}, func(h *history) {
			h.open(5)
			h.end(4, 2)
		}, "1:1 3:3 5:5"},
		{"what ended first goes first", memory.Options{MaxEvents: 3}, func(h *history) {
			h.open(3)
			h.end(3, 1)
			h.open(1)
		}, "1:1 2:2 4:4"},
		{"what has no delivery ends with the commit", memory.Options{MaxEvents: 2}, func(h *history) {
			commitAt(h.T, h.s, start, newEvents(acme, "1", "2", "3")...)
		}, "2:2 3:3"},
		{"numbers go on after all is removed", memory.Options{Retention: time.Hour}, func(h *history) {
			h.open(2)
			h.end(1, 2)
			h.wait(time.Hour)
			h.open(1)
		}, "3:3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, c := open(t, row.opts)
			h := &history{T: t, s: s, c: c}
			row.do(h)
			// The first call to read: it must not depend on another one to remove what is old.
			page, err := s.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", SourceID: acme.ID, PageSize: 100})
			must(t, err)
			evs := eventsOf(t, s, "acme")
			want(t, "events", tweets(evs), row.want)
			if len(h.ds) > 0 {
				want(t, "deliveries", page.Total, len(evs))
			}
			kept := make(map[string]bool)
			for _, ev := range evs {
				kept[ev.ID] = true
			}
			for _, d := range h.ds {
				_, err := s.Ports().Log.Delivery(t.Context(), "acme", d.ID)
				var gone error
				if !kept[d.Event.ID] {
					gone = deliver.ErrDeliveryNotFound
				}
				wantErr(t, err, gone)
			}
		})
	}
}

func TestDeletingAnEndpointLetsEventsGo(t *testing.T) {
	s, _ := open(t, memory.Options{MaxEvents: 1})
	bind(t, s, acme, "e")
	commitAt(t, s, start, newEvents(acme, "1", "2", "3")...)
	must(t, roles.Endpoints(s.Ports().Records).Delete(t.Context(), "acme", "e"))
	want(t, "events", tweets(eventsOf(t, s, "acme")), "3:3")
}

func TestIDsOfRemovedEventsStayKnown(t *testing.T) {
	s, _ := open(t, memory.Options{MaxEvents: 1, MaxEventIDs: 2})
	for i := 1; i <= 4; i++ {
		commitAt(t, s, start, newEvent(acme, fmt.Sprint(i)))
	}
	// 4 is retained, 3 and 2 are remembered, 1 is forgotten.
	for _, row := range []struct{ tweet, seqs string }{{"4", "0"}, {"3", "0"}, {"2", "0"}, {"1", "5"}} {
		b := commitAt(t, s, start, newEvent(acme, row.tweet))
		want(t, "sequence number of tweet "+row.tweet, seqs(b.Events), row.seqs)
	}
}

func TestARetainedEventIsAlwaysKnown(t *testing.T) {
	s, c := open(t, memory.Options{MaxEventIDs: 1})
	h := &history{T: t, s: s, c: c}
	h.open(5)
	b := commitAt(t, s, start, newEvents(acme, "1", "2", "3", "4", "5")...)
	want(t, "sequence numbers", seqs(b.Events), "0 0 0 0 0")
}

func TestBalancesStayExactWhenEntriesGo(t *testing.T) {
	ctx := t.Context()
	s, _ := open(t, memory.Options{MaxEntries: 3})
	for i := 1; i <= 5; i++ {
		must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Amount: 10}))
	}
	must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "theirs", Owner: "globex", Amount: 1}))
	must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "1", Owner: "acme", Amount: 10})) // gone, but known
	wantBalance(t, s, "acme", 50, 0)
	want(t, "acme's entries", entries(t, s, billing.EntryQuery{Owner: "acme"}), "5=50 4=40")
	want(t, "globex's entries", entries(t, s, billing.EntryQuery{Owner: "globex"}), "theirs=1")
}
