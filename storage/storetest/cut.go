package storetest

import (
	"context"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// countedContext ends after a number of calls of Done and Err. Thus it ends during a call of a
// store, however fast the call is.
type countedContext struct {
	context.Context
	cancel context.CancelFunc

	mu   sync.Mutex
	left int
}

func endAfter(ctx context.Context, looks int) *countedContext {
	c := &countedContext{left: looks}
	c.Context, c.cancel = context.WithCancel(ctx)
	return c
}

func (c *countedContext) look() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.left--; c.left < 0 {
		c.cancel()
	}
}

// over reports whether the context ended, and ends it.
func (c *countedContext) over() bool {
	ended := c.Context.Err() != nil
	c.cancel()
	return ended
}

func (c *countedContext) Done() <-chan struct{} { c.look(); return c.Context.Done() }
func (c *countedContext) Err() error            { c.look(); return c.Context.Err() }

// mostLooks is the maximum number of moments at which a case ends a context.
const mostLooks = 40

// cutCases make calls that change several things, and end their contexts at each moment at which
// the store can notice.
func cutCases() []storeCase {
	on := func(call, what string, round func(t *storeTest, n int) (do func(context.Context) error, seen func() string, all string)) storeCase {
		return storeCase{name: call + " is done whole or not at all when its context ends", run: func(t *storeTest) {
			for n := range mostLooks {
				do, seen, all := round(t, n)
				before := seen()
				ctx := endAfter(t.Context(), n)
				err := do(ctx)
				ended := ctx.over()
				is := func() bool { got := seen(); return got == all || err != nil && got == before }
				whole := is()
				if !whole {
					whole = is() // look again: a server may complete a request after the call has returned
				}
				if !whole {
					t.Fatalf("%s kept a part of %s when its context ended at look %d: got %q, want %q (the error is %v)", call, what, n+1, seen(), all, err)
				}
				t.ok(do(t.Context()), call+" again")
				expect(t, seen(), all, "%s again, after its context had ended at look %d, has to do what is left of %s", call, n+1, what)
				if !ended {
					return
				}
			}
		}}
	}
	return []storeCase{
		on("Journal.Commit", "its batches", func(t *storeTest, n int) (func(context.Context) error, func() string, string) {
			owner := fmt.Sprint("owner ", n)
			src := storeSource(owner, fmt.Sprint("m", n))
			t.topUp(owner, 9)
			targets := []string{fmt.Sprint(n, "-1"), fmt.Sprint(n, "-2"), fmt.Sprint(n, "-3")}
			return func(ctx context.Context) error {
					var batches []*detect.Batch
					for i, target := range targets {
						batches = append(batches, &detect.Batch{
							Cursor: &detect.Cursor{Target: target, Since: t.at(i)}, Events: []deliver.Event{newEvent(src, target, "log")},
							Charges: []billing.Entry{{ID: "charge " + target, Owner: owner, Amount: -1}}, DeliverBy: t.start,
						})
					}
					return t.store.Ports().Journal.Commit(ctx, batches)
				}, func() string {
					return fmt.Sprint(len(t.cursors(targets...)), " cursors, events ", seqsOf(t.events(owner)), ", balance ", t.balance(owner))
				}, "3 cursors, events 1 2 3, balance 6+0"
		}),
		on("Outbox.Settle", "its settlements", func(t *storeTest, n int) (func(context.Context) error, func() string, string) {
			owner := fmt.Sprint("owner ", n)
			src := storeSource(owner, fmt.Sprint("m", n))
			ds := t.commitDue(t.start, newEvent(src, "1", "log"), newEvent(src, "2", "log"), newEvent(src, "3", "log")).Deliveries
			var ss []deliver.Settlement
			for _, d := range ds {
				ss = append(ss, attempted(d.ID, 1, deliver.StateDelivered, t.start))
			}
			return func(ctx context.Context) error { return t.store.Ports().Outbox.Settle(ctx, ss...) }, func() string {
				return joined(ds, func(d deliver.Delivery) string { e := t.entry(owner, d.ID); return fmt.Sprint(e.State, len(e.Log)) })
			}, "delivered1 delivered1 delivered1"
		}),
		on("Ledger.Append", "its entries", func(t *storeTest, n int) (func(context.Context) error, func() string, string) {
			owner := fmt.Sprint("owner ", n)
			var entries []billing.Entry
			for i := range 3 {
				entries = append(entries, billing.Entry{ID: fmt.Sprint(n, "-", i), Owner: owner, Kind: billing.KindTopUp, Amount: 1})
			}
			return func(ctx context.Context) error { return t.store.Ports().Ledger.Append(ctx, entries...) }, func() string { return t.balance(owner) }, "3+0"
		}),
	}
}
