package sqlite_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// history is a store under test and the deliveries of the tweets 1, 2, …
type history struct {
	*testing.T
	s  *sqlite.Store
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

// end settles the deliveries of these tweets.
func (h *history) end(tweets ...int) {
	for _, n := range tweets {
		must(h.T, h.s.Ports().Outbox.Settle(h.Context(), deliver.Settlement{
			DeliveryID: h.ds[n-1].ID, Attempt: &deliver.Attempt{N: 1}, State: deliver.StateDelivered,
		}))
	}
}

func (h *history) wait(d time.Duration) { h.c.Advance(d) }

func TestRetention(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		opts sqlite.Options
		do   func(h *history)
		want string
	}{
		{"7 days by default", sqlite.Options{}, func(h *history) {
			h.open(2)
			h.end(1)
			h.wait(1)
			h.end(2)
			h.wait(7*24*time.Hour - 1)
		}, "2:2"},
		{"no more than the maximum", sqlite.Options{MaxEvents: 3}, func(h *history) {
			h.open(3)
			h.end(1, 2, 3)
			h.open(2)
		}, "3:3 4:4 5:5"},
		{"open deliveries are never too many", sqlite.Options{MaxEvents: 3}, func(h *history) {
			h.open(5)
		}, "1:1 2:2 3:3 4:4 5:5"},
		{"what ends beyond the maximum goes", sqlite.Options{MaxEvents: 3}, func(h *history) {
			h.open(5)
			h.end(4, 2)
			h.open(1)
		}, "1:1 3:3 5:5 6:6"},
		{"what ended first goes first", sqlite.Options{MaxEvents: 3}, func(h *history) {
			h.open(3)
			h.end(3)
			h.wait(1)
			h.end(1)
			h.open(1)
		}, "1:1 2:2 4:4"},
		{"what has no delivery ends with the commit", sqlite.Options{MaxEvents: 2}, func(h *history) {
			commitAt(h.T, h.s, start, newEvents(acme, "1", "2", "3")...)
		}, "2:2 3:3"},
		{"numbers go on after all is removed", sqlite.Options{Retention: time.Hour}, func(h *history) {
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
			// Deliveries first: they must not depend on an earlier query.
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

// rows counts a table's rows, shown or not.
func rows(t *testing.T, s *sqlite.Store, table string) int {
	t.Helper()
	answer, err := s.AskReader(t.Context(), "SELECT count(*) FROM "+table)
	must(t, err)
	n, err := strconv.Atoi(answer)
	must(t, err)
	return n
}

// When very many rows are too old, a write that adds one removes some of them once a second, and
// none of them is shown.
func TestRemovalGoesInSmallSteps(t *testing.T) {
	t.Parallel()
	const old = 500
	s, c := open(t, sqlite.Options{Retention: time.Hour, EntryRetention: time.Hour})
	h := &history{T: t, s: s, c: c}
	var evs []deliver.Event
	for i := range old {
		evs = append(evs, handled(acme, fmt.Sprint("old ", i), "a"))
		must(t, s.Ports().Ledger.Append(t.Context(), entry(fmt.Sprint(i), 1)))
	}
	h.ds = commitAt(t, s, start, evs...).Deliveries
	for i := range old {
		h.end(i + 1)
	}
	c.Advance(2 * time.Hour)
	removed, step := 0, 66
	for left := old; left > 0; {
		want(t, "shown", len(eventsOf(t, s, "acme")), 0)
		before := rows(t, s, "ledger_entries")
		must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint("new ", left), Owner: "globex"}))
		now := rows(t, s, "events")
		want(t, "removed", left-now, min(step, left))
		want(t, "removed entries", before+1-rows(t, s, "ledger_entries"), min(step, old-removed))
		removed += step
		left = now
		must(t, s.Ports().Ledger.Append(t.Context(), billing.Entry{ID: fmt.Sprint("soon after ", left), Owner: "globex"}))
		want(t, "removed within the second", left-rows(t, s, "events"), 0)
		c.Advance(time.Second)
		step = 68 // for two rows
	}
	for _, table := range []string{"deliveries", "attempts", "settled"} {
		want(t, table, rows(t, s, table), 0)
	}
	wantBalance(t, s, "acme", old, 0)
	want(t, "known ids", rows(t, s, "removed_events"), old)
}

// A program that runs for less than a second at a time removes what is too old, too.
func TestAShortRunRemoves(t *testing.T) {
	t.Parallel()
	path := newFile(t)
	s, c := openAt(t, path, sqlite.Options{})
	commitAt(t, s, start, newEvents(acme, "1", "2")...)
	must(t, s.Close(t.Context()))
	c.Advance(8 * 24 * time.Hour)
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{Now: c.Now})
	must(t, err)
	t.Cleanup(func() { closed(t, s) })
	commitAt(t, s, c.Now(), newEvents(acme, "3")...)
	want(t, "events", rows(t, s, "events"), 1)
}

// Removing keeps up with a stream of events, however many come at a time.
func TestRemovalKeepsUp(t *testing.T) {
	t.Parallel()
	const limit = 100
	s, _ := open(t, sqlite.Options{MaxEvents: limit, MaxEventIDs: limit, MaxEntries: limit})
	for i := range 10 {
		b := &detect.Batch{}
		for j := range 200 {
			id := fmt.Sprint(i, "-", j)
			b.Events = append(b.Events, newEvent(acme, id))
			b.Charges = append(b.Charges, entry(id, 1))
		}
		commit(t, s, b)
		for _, table := range []string{"events", "ledger_entries"} {
			want(t, table, rows(t, s, table), limit)
		}
		for _, table := range []string{"removed_events", "removed_entries"} {
			want(t, table, rows(t, s, table), limit)
		}
	}
}

func TestIDsAreForgottenWithAge(t *testing.T) {
	ctx := t.Context()
	s, c := open(t, sqlite.Options{MaxEvents: 1, MaxEntries: 1, IDRetention: time.Hour})
	commitAt(t, s, start, newEvents(acme, "1", "2")...)
	must(t, s.Ports().Ledger.Append(ctx, entry("1", 1), entry("2", 1)))
	must(t, s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme"}))
	must(t, s.Ports().Ledger.Release(ctx, "r"))
	c.Advance(time.Hour - 1)
	want(t, "just before", seqs(commitAt(t, s, start, newEvent(acme, "1")).Events), "0")
	must(t, s.Ports().Ledger.Append(ctx, entry("1", 1)))
	wantErr(t, s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme"}), billing.ErrResolved)
	wantBalance(t, s, "acme", 2, 0)
	c.Advance(1)
	must(t, s.Ports().Ledger.Append(ctx, billing.Entry{ID: "any", Owner: "globex"})) // any write that adds a row
	want(t, "afterwards", seqs(commitAt(t, s, start, newEvent(acme, "1")).Events), "3")
	must(t, s.Ports().Ledger.Append(ctx, entry("1", 1)))
	must(t, s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme"}))
	wantBalance(t, s, "acme", 3, 0)
}
