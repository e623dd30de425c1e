package storetest

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// beside calls work once in each round. While work runs, and once after it, it calls look
// repeatedly. If look ends the case, the context of work ends.
func beside(t *storeTest, rounds int, work func(ctx context.Context, round int) error, look func()) {
	t.Helper()
	var wg sync.WaitGroup
	defer wg.Wait()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for i := range rounds {
		done := make(chan error, 1)
		wg.Go(func() { done <- work(ctx, i) })
		for more := true; more; {
			select {
			case err := <-done:
				t.ok(err, "a call beside others")
				more = false
			default:
			}
			look()
			runtime.Gosched() // work may wait for a lock that look locks
		}
	}
}

// wholeCommits reads the roles one after the other during commits. If one role shows a commit,
// every role read after it must show the commit, too.
func wholeCommits(t *storeTest) {
	const commits = 20
	t.topUp("acme", commits)
	beside(t, commits, func(ctx context.Context, i int) error {
		return t.store.Ports().Journal.Commit(ctx, []*detect.Batch{{
			Cursor:  &detect.Cursor{Target: "t1", Since: t.at(i + 1)},
			Events:  []deliver.Event{newEvent(acme, fmt.Sprint(i), "log")},
			Charges: []billing.Entry{{ID: fmt.Sprint(i), Owner: "acme", Amount: -1}},
		}})
	}, func() {
		events := len(t.events("acme"))
		log, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme"})
		t.ok(err, "Log.Deliveries")
		balance, err := t.store.Ports().Ledger.Balance(t.Context(), "acme")
		t.ok(err, "Ledger.Balance")
		charges := commits - int(balance.Available)
		polls := 0
		for _, c := range t.cursors("t1") {
			polls = int(c.Since.Sub(t.start).Seconds())
		}
		after := len(t.events("acme"))
		if log.Total < events || charges < log.Total || polls < charges || after < polls {
			t.Fatalf("a commit was seen in part: %d events, then %d deliveries, then %d charges, then the cursor of commit %d, then %d events: Journal, Outbox, Log and Ledger share one transaction",
				events, log.Total, charges, polls, after)
		}
	})
}

// wholeSettlements counts delivered deliveries while each call settles many of them. The count must
// be a possible result of whole calls.
func wholeSettlements(t *storeTest) {
	const calls, each = 10, 50
	var evs []deliver.Event
	for i := range calls * each {
		evs = append(evs, newEvent(acme, fmt.Sprint(i), "log"))
	}
	var ss []deliver.Settlement
	for _, d := range t.commitDue(t.start, evs...).Deliveries {
		ss = append(ss, attempted(d.ID, 1, deliver.StateDelivered, t.start))
	}
	if len(ss) != calls*each {
		t.Fatalf("Commit gave %d deliveries of %d events with one handler", len(ss), calls*each)
	}
	beside(t, calls, func(ctx context.Context, i int) error {
		return t.store.Ports().Outbox.Settle(ctx, ss[i*each:(i+1)*each]...)
	}, func() {
		p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", State: deliver.StateDelivered, PageSize: 1})
		t.ok(err, "Log.Deliveries")
		if p.Total%each != 0 {
			t.Fatalf("a Settle was seen in part: %d deliveries are delivered, although each call settles %d", p.Total, each)
		}
	})
}

// wholeTotals reads the totals of many sources while each call adds 1 to each of them.
func wholeTotals(t *storeTest) {
	const calls, size = 30, 40
	sources := make([]billing.Source, size)
	for i := range sources {
		sources[i] = billing.Source{Owner: "acme", Kind: billing.KindRule, ID: fmt.Sprint("r", i)}
	}
	beside(t, calls, func(ctx context.Context, call int) error {
		var entries []billing.Entry
		for _, src := range sources {
			entries = append(entries, entryOf(src, fmt.Sprint(call, " ", src.ID), 1))
		}
		return t.store.Ports().Ledger.Append(ctx, entries...)
	}, func() {
		totals, err := t.store.Ports().Ledger.Totals(t.Context(), sources...)
		t.ok(err, "Ledger.Totals")
		if len(totals) != size || slices.Min(totals) != slices.Max(totals) {
			t.Fatalf("an Append was seen in part: the totals of %d sources are %v, although each call adds 1 to each: all sums are as of one moment", size, totals)
		}
	})
}

// wholeAppends appends entries from several goroutines, several in each call. The credits suffice
// for half of the calls.
func wholeAppends(t *storeTest) {
	const writers, calls, size = 4, 6, 10
	const left = size / 2 // too little for another call
	t.topUp("acme", writers*calls*size/2+left)
	var made atomic.Int64
	beside(t, 1, func(ctx context.Context, _ int) error {
		var wg sync.WaitGroup
		for w := range writers {
			wg.Go(func() {
				for i := range calls {
					var entries []billing.Entry
					for n := range size {
						entries = append(entries, line(fmt.Sprintf("%d-%d/%d", w, i, n), -1))
					}
					if t.store.Ports().Ledger.Append(ctx, entries...) == nil {
						made.Add(1)
					}
				}
			})
		}
		wg.Wait()
		return nil
	}, func() {
		b, err := t.store.Ports().Ledger.Balance(t.Context(), "acme")
		t.ok(err, "Ledger.Balance")
		if b.Available%size != left {
			t.Fatalf("an Append was seen in part: %d are available, although each call takes %d of %d", b.Available, size, writers*calls*size/2+left)
		}
	})
	expect(t, made.Load(), writers*calls/2, "of concurrent Appends those have to succeed that are covered")
	expect(t, t.balance("acme"), fmt.Sprintf("%d+0", left), "a concurrent Append that was refused left some of its entries")
	p, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme", Asc: true, PageSize: 1000})
	t.ok(err, "Ledger.Entries")
	for i, e := range p.Entries[min(1, len(p.Entries)):] { // after the top-up
		call, _, _ := strings.Cut(p.Entries[1+i/size*size].ID, "/")
		if want := fmt.Sprint(call, "/", i%size); e.ID != want {
			t.Fatalf("entry %d is %q, want %q: the entries of one Append stand together, whatever is appended beside it", i+1, e.ID, want)
		}
	}
}
