package redisstore_test

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

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
