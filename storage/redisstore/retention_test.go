package redisstore_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// history is a store under test, with the deliveries of the tweets 1, 2, and so on.
type history struct {
	*testing.T
	s  *redisstore.Store
	c  *fakeClock
	ds []deliver.Delivery
}

// open commits n tweets with one delivery each.
func (h *history) open(n int) {
	for range n {
		h.ds = append(h.ds, commit(h.T, h.s, newEvent(acme, fmt.Sprint(len(h.ds)+1), "a")).Deliveries...)
	}
}

// end settles the deliveries of these tweets as delivered.
func (h *history) end(tweets ...int) {
	for _, n := range tweets {
		settle(h.T, h.s, h.ds[n-1])
	}
}

func TestRetention(t *testing.T) {
	for _, row := range []struct {
		name string
		opts redisstore.Options
		do   func(h *history)
		want string
	}{
		{"7 days by default", redisstore.Options{}, func(h *history) {
			h.open(2)
			h.end(1)
			h.c.Advance(1)
			h.end(2)
			h.c.Advance(7*24*time.Hour - 1)
		}, "2:2"},
		{"no more than the maximum", redisstore.Options{MaxEvents: 3}, func(h *history) {
			h.open(3)
			h.end(1, 2, 3)
			h.open(2)
		}, "3:3 4:4 5:5"},
		{"open deliveries are never too many", redisstore.Options{MaxEvents: 3}, func(h *history) { h.open(5) }, "1:1 2:2 3:3 4:4 5:5"},
		{"what ends beyond the maximum goes", redisstore.Options{MaxEvents: 3}, func(h *history) {
			h.open(5)
			h.end(4, 2)
		}, "1:1 3:3 5:5"},
		{"what ended first goes first", redisstore.Options{MaxEvents: 3}, func(h *history) {
			h.open(3)
			h.end(3, 1)
			h.open(1)
		}, "1:1 2:2 4:4"},
		{"what has no delivery ends with the commit", redisstore.Options{MaxEvents: 2}, func(h *history) {
			commit(h.T, h.s, newEvent(acme, "1"), newEvent(acme, "2"), newEvent(acme, "3"))
		}, "2:2 3:3"},
		{"an event stays until its last delivery ends", redisstore.Options{Retention: time.Hour}, func(h *history) {
			h.ds = commit(h.T, h.s, newEvent(acme, "1", "a", "b", "c"), newEvent(acme, "2", "a", "b", "c")).Deliveries
			h.end(1, 3, 4, 5, 6)
			h.c.Advance(2 * time.Hour)
		}, "1:1"},
		{"numbers go on after all is removed", redisstore.Options{Retention: time.Hour}, func(h *history) {
			h.open(2)
			h.end(1, 2)
			h.c.Advance(time.Hour)
			h.open(1)
		}, "3:3"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, _, c := open(t, row.opts)
			h := &history{T: t, s: s, c: c}
			row.do(h)
			must(t, s.Ports().Outbox.Settle(t.Context())) // removes what is too old or too many
			want(t, "events", logged(t, s, "acme", 0), row.want)
			for _, d := range h.ds {
				_, err := s.Ports().Log.Delivery(t.Context(), "acme", d.ID)
				var gone error
				if !strings.Contains(" "+row.want+" ", ":"+d.Event.TweetID+" ") {
					gone = deliver.ErrDeliveryNotFound
				}
				wantErr(t, err, gone)
			}
		})
	}
}

func TestIDsOfRemovedEventsStayKnown(t *testing.T) {
	s, _, _ := open(t, redisstore.Options{MaxEvents: 1, MaxEventIDs: 2})
	for i := 1; i <= 4; i++ {
		commit(t, s, newEvent(acme, fmt.Sprint(i)))
	}
	// 4 is retained, 3 and 2 are remembered, 1 is forgotten.
	for _, row := range []struct {
		tweet string
		seq   uint64
	}{{"4", 0}, {"3", 0}, {"2", 0}, {"1", 5}} {
		want(t, "sequence number of tweet "+row.tweet, commit(t, s, newEvent(acme, row.tweet)).Events[0].Seq, row.seq)
	}
}

func TestIDsOfEntriesAndReservationsStayKnown(t *testing.T) {
	s, _, c := open(t, redisstore.Options{MaxEntries: 1, IDRetention: time.Hour})
	ctx, l := t.Context(), s.Ports().Ledger
	for i := range 5 {
		must(t, l.Append(ctx, billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Amount: 1}))
	}
	must(t, l.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme", Amount: 1}))
	must(t, l.Release(ctx, "r"))
	page, err := l.Entries(ctx, billing.EntryQuery{Owner: "acme"})
	must(t, err)
	want(t, "entries", page.Total, 1)
	must(t, l.Append(ctx, billing.Entry{ID: "0", Owner: "acme", Amount: 1})) // known, though removed
	wantErr(t, l.Reserve(ctx, billing.Reservation{ID: "1", Owner: "acme"}), billing.ErrResolved)
	wantErr(t, l.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme"}), billing.ErrResolved)
	b, err := l.Balance(ctx, "acme")
	must(t, err)
	want(t, "balance", b.Available, 5)

	c.Advance(time.Hour)
	must(t, l.Append(ctx))
	must(t, l.Append(ctx, billing.Entry{ID: "0", Owner: "acme", Amount: 1}))
	must(t, l.Reserve(ctx, billing.Reservation{ID: "r", Owner: "acme"}))
	b, err = l.Balance(ctx, "acme")
	must(t, err)
	want(t, "balance once the ids were forgotten", b.Available, 6)
}

// Events finds what is left before and after many removed events.
func TestEventsAcrossHoles(t *testing.T) {
	s, server, _ := open(t, redisstore.Options{MaxEvents: 1})
	commit(t, s, newEvent(acme, "open", "a"))
	for i := range 6 { // more events than one script looks at
		var evs []deliver.Event
		for k := range 500 {
			evs = append(evs, newEvent(acme, fmt.Sprint(i, "-", k)))
		}
		commit(t, s, evs...)
		must(t, s.Ports().Outbox.Settle(t.Context()))
	}
	last := commit(t, s, newEvent(acme, "last", "a"))
	for range 60 {
		must(t, s.Ports().Outbox.Settle(t.Context()))
	}
	want(t, "all", logged(t, s, "acme", 0), "1:open 3002:last")
	want(t, "after the first", logged(t, s, "acme", 1), "3002:last")
	settle(t, s, claim(t, s, 1)...)
	for range 60 {
		must(t, s.Ports().Outbox.Settle(t.Context()))
	}
	want(t, "with the first removed, too", logged(t, s, "acme", 0), "3002:last")
	settle(t, s, last.Deliveries...)
	commit(t, s, newEvent(acme, "next"))
	want(t, "with all but the newest removed", logged(t, s, "acme", 0), "3003:next")
	// Reading begins after what was removed long ago, not at the first number.
	if first, err := strconv.Atoi(server.HGet("{streamwatch}:firsts", "acme\x00\x00")); err != nil || first < 1000 {
		t.Errorf("reading begins at %d (%v), want a number after what was removed long ago", first, err)
	}
}

func TestTotalsStayWhenEntriesGo(t *testing.T) {
	s, _, _ := open(t, redisstore.Options{MaxEntries: 1})
	ctx, l := t.Context(), s.Ports().Ledger
	src := billing.Source{Owner: "acme", Kind: billing.KindRule, ID: "r1"}
	for i := range 5 {
		must(t, l.Append(ctx, billing.Entry{ID: fmt.Sprint(i), Owner: "acme", Kind: src.Kind, SourceID: src.ID, Amount: 10}))
	}
	page, err := l.Entries(ctx, billing.EntryQuery{Owner: "acme"})
	must(t, err)
	want(t, "entries", page.Total, 1)
	totals, err := l.Totals(ctx, src)
	must(t, err)
	want(t, "total", fmt.Sprint(totals), "[50]")
}

// Append and Totals take more entries and sources than one command of a script does.
func TestTotalsOfManySources(t *testing.T) {
	s, _, _ := open(t, redisstore.Options{})
	var sources []billing.Source
	var entries []billing.Entry
	for i := range 2500 {
		src := billing.Source{Owner: "acme", Kind: billing.KindRule, ID: fmt.Sprint("r", i)}
		sources = append(sources, src)
		entries = append(entries, billing.Entry{ID: src.ID, Owner: "acme", Kind: src.Kind, SourceID: src.ID, Amount: billing.Credits(i)})
	}
	must(t, s.Ports().Ledger.Append(t.Context(), entries...))
	totals, err := s.Ports().Ledger.Totals(t.Context(), sources...)
	must(t, err)
	for i, total := range totals {
		if total != billing.Credits(i) {
			t.Fatalf("total %d is %d, want %d", i, total, i)
		}
	}
}
