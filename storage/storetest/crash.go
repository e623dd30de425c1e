package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// crashCases let a process die at each of its calls, before or after the call takes effect. Then
// another process does the same work from the start.
func crashCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name  string
		fault StoreFault
		needs needs
		again func(*storeTest)
	}{
		{"work cut before any of its calls is done by doing it again", DieBefore, 0, func(*storeTest) {}},
		{"work cut after any of its calls is done by doing it again", DieAfter, 0, func(*storeTest) {}},
		{"work cut before any of its calls is done after a restart", DieBefore, needsDurable, (*storeTest).reopen},
		{"work cut after any of its calls is done after a restart", DieAfter, needsDurable, (*storeTest).reopen},
	} {
		cases = append(cases, storeCase{name: row.name, needs: row.needs, run: func(t *storeTest) {
			want, step := "", sized(3, 1)
			for cut := 0; ; cut += step { // 0: an undisturbed run, to compare with
				one := &storeTest{TB: t.TB, kit: t.kit, start: t.start, store: t.kit.Open(t.TB)}
				died := false
				if cut > 0 {
					err := work(t.Context(), FaultyStore(one.store, FaultPlan{Call: cut, Do: row.fault}), one, 0)
					if died = errors.Is(err, ErrStoreDied); !died {
						t.ok(err, "work that was to be cut")
					}
					row.again(one)
				}
				t.ok(work(t.Context(), one.store, one, cut), fmt.Sprintf("work done again after it was cut at call %d", cut))
				got := crashOutcome(one)
				one.close()
				if cut == 0 {
					want = got
				} else if got != want {
					t.Fatalf("work that was cut at call %d and done again has another outcome:\n%s\nwithout the cut:\n%s", cut, got, want)
				}
				if cut > 0 && !died {
					return // cut is beyond the last call
				}
			}
		}})
	}
	return cases
}

// work does what a service does in a short life. It can be done again at any time: calls that were
// made before then return errors that say so. Each run makes its claims an hour later than the run
// before, when the earlier claims have ended.
func work(ctx context.Context, s storage.Store, t *storeTest, run int) error {
	begun := t.at(run * 3600)
	src := acme
	steps := []func() error{
		func() error {
			_, err := s.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{newMonitor("acme", src.ID), t.endpoint(src, "a")}})
			return err
		},
		func() error {
			_, err := s.Ports().State.Swap(ctx, keptValue, 0, []byte("value"), 0)
			return err
		},
		func() error {
			return s.Ports().Ledger.Append(ctx, billing.Entry{ID: "top-up", Owner: "acme", Amount: 100}, billing.Entry{ID: "fee", Owner: "acme", Amount: -1})
		},
		func() error {
			return s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "spent", Owner: "acme", Amount: 20})
		},
		func() error {
			c := fullCursor(t, "kept")
			return s.Ports().Journal.Commit(ctx, []*detect.Batch{
				{Cursor: &c, Events: []deliver.Event{newEvent(src, "1", "log"), newEvent(src, "2")}, DeliverBy: t.start, Charges: []billing.Entry{line("charge 1", -5)}},
				{Events: []deliver.Event{newEvent(globex, "1", "log")}, DeliverBy: t.start},
			})
		},
		func() error { return s.Ports().Ledger.Commit(ctx, "spent", billing.Entry{}) },
		func() error {
			return s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: "kept back", Owner: "acme", Amount: 7})
		},
		func() error {
			return s.Ports().Journal.Commit(ctx, []*detect.Batch{{Events: newEvents(src, "2", "3"), DeliverBy: t.start, Charges: []billing.Entry{line("charge 1", -5), line("charge 2", -5)}}})
		},
		func() error { return s.Ports().Ledger.Release(ctx, "kept back") },
		func() error { return deliverAll(ctx, s, begun) },
	}
	for _, step := range steps {
		err := step()
		for _, done := range []error{record.ErrDuplicate, record.ErrConflict, billing.ErrResolved} {
			if errors.Is(err, done) {
				err = nil
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// deliverAll makes two attempts of each open delivery; the second succeeds.
func deliverAll(ctx context.Context, s storage.Store, begun time.Time) error {
	for {
		ds, err := s.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: begun, Lease: lease, Limit: 2})
		if err != nil || len(ds) == 0 {
			return err
		}
		for _, d := range ds {
			state := deliver.StateDelivered
			if d.Attempts == 0 {
				state = deliver.StateRetrying
			}
			if err := s.Ports().Outbox.Settle(ctx, attempted(d.ID, d.Attempts+1, state, begun)); err != nil {
				return err
			}
		}
	}
}

// crashOutcome returns the part of the state that must be the same wherever the process died.
func crashOutcome(t *storeTest) string {
	t.Helper()
	var b strings.Builder
	v := t.view()
	fmt.Fprintf(&b, "records %d, in the feed %d, values %v, cursors %d\n", len(v.Records), v.Feed, v.Values, len(v.Cursors))
	fmt.Fprintf(&b, "events %s\n", joined(v.Events, func(ev deliver.Event) string { return fmt.Sprintf("%s %d:%s", ev.Source.Owner, ev.Seq, ev.TweetID) }))
	for _, e := range v.Deliveries {
		fmt.Fprintf(&b, "delivery of %s of %s to %s: %s, log %s\n", e.Event.TweetID, e.Owner(), e.EndpointID, e.State,
			joined(e.Log, func(a deliver.Attempt) string { return fmt.Sprint(a.N) }))
	}
	fmt.Fprintf(&b, "next due %s, balance %s\n", t.nextDue(), t.balance("acme"))
	fmt.Fprintf(&b, "entries %s\n", t.lines(billing.EntryQuery{Owner: "acme", Asc: true, PageSize: 100}))
	return b.String()
}
