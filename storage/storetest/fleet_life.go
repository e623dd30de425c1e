package storetest

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// fleetCall calls one method. The call succeeds on a fleet with a member that has the fence.
type fleetCall struct {
	role, method string
	do           func(ctx context.Context, s storage.Store, f fleet.Fence) error
}

// fleetCalls returns a call of each method of Members and Signals, except
// Signals.Receive, which does not end by itself.
func fleetCalls() []fleetCall {
	return []fleetCall{
		{"Members", "Join", func(ctx context.Context, s storage.Store, _ fleet.Fence) error {
			_, err := s.Ports().Members.Join(ctx, fleet.Node{Name: "new", Weight: 1, Lease: longLease})
			return err
		}},
		{"Members", "Beat", func(ctx context.Context, s storage.Store, f fleet.Fence) error {
			_, err := s.Ports().Members.Beat(ctx, fleet.Beat{Fence: f, Want: 20, Weight: 1})
			return err
		}},
		{"Members", "Leave", func(ctx context.Context, s storage.Store, f fleet.Fence) error {
			return s.Ports().Members.Leave(ctx, f)
		}},
		{"Members", "Look", func(ctx context.Context, s storage.Store, _ fleet.Fence) error {
			_, err := s.Ports().Members.Look(ctx)
			return err
		}},
		{"Signals", "Send", func(ctx context.Context, s storage.Store, _ fleet.Fence) error {
			return s.Ports().Signals.Send(ctx, fleet.Signal{Kind: fleet.SignalLook})
		}},
	}
}

// fleetLifeCases test contexts, Close, and restarts.
func fleetLifeCases() []storeCase {
	return []storeCase{
		onFleet("a context that has ended changes nothing", func(t *fleetTest) {
			n := t.join("n", longLease).beat(wants(10))
			before := t.look()
			ended, cancel := context.WithCancel(t.Context())
			cancel()
			for _, c := range fleetCalls() {
				t.refused(c.do(ended, t.store, n.Fence), context.Canceled, "%s.%s has to give back the error of a context that has ended", c.role, c.method)
			}
			t.refused(t.store.Ports().Signals.Receive(ended, func(fleet.Signal) {}), context.Canceled, "Signals.Receive has to give back the error of a context that has ended")
			t.same(t.look(), before, "a call whose context had ended changed the fleet")
		}),
		onFleet("a closed store refuses every call", func(t *fleetTest) {
			n, s := t.join("n", longLease), t.store
			t.close()
			for _, c := range fleetCalls() {
				t.refused(c.do(t.Context(), s, n.Fence), errAny, "%s.%s has to fail after Close", c.role, c.method)
			}
			ctx, cancel := context.WithTimeout(t.Context(), receiveWait)
			defer cancel()
			t.refused(s.Ports().Signals.Receive(ctx, func(fleet.Signal) {}), errAny, "Signals.Receive has to fail after Close")
			expect(t.storeTest, ctx.Err() == nil, true, "Signals.Receive has to fail after Close, and went on")
		}),
		onDurableFleet("terms, parts, grants and leases survive a restart", func(t *fleetTest) {
			a := t.join("a", longLease).beat(wants(10), asks(fleet.Ask{Budget: "x", Total: 10, Rate: 7}), func(b *fleet.Beat) { b.Says = []byte("says") })
			b := t.join("b", 2*longLease).beat(wants(20), func(b *fleet.Beat) { b.Seen = 100 })
			before := t.look()
			t.reopen()
			t.same(t.look(), before, "after Reopen the fleet is not what it was")
			expect(t.storeTest, before.Epoch != 0, true, "Beat has to draw an epoch when a node has seen more beats")
			a.fleetTest, b.fleetTest = t, t
			t.refused(t.tryCommit(a.Fence, "1"), nil, "Commit after Reopen with the fence from before")
			t.refused(t.tryCommit(fleet.Fence{}, "2"), fleet.ErrShared, "Commit without a fence after Reopen, while terms live")
			own := a.Own
			a.beat(wants(fleet.Parts), suspects(b))
			expect(t.storeTest, a.Own.Len(), fleet.Parts-20, "after Reopen Beat has to give the parts that are free, and to end no term whose lease is not over")
			expect(t.storeTest, own.Minus(a.Own), fleet.Set{}, "after Reopen a term has lost parts")
			expect(t.storeTest, a.Fence.Generation, 3, "after Reopen the generation has to go on")
			b.beat(asks(fleet.Ask{Budget: "x", Total: 10, Rate: 7}))
			expect(t.storeTest, grantsOf(b.Grants), "x=7", "what a beat did not ask for any more has to be free after Reopen")
			t.whole()
		}),
		onDurableFleet("a term that was ended stays so over a restart", func(t *fleetTest) {
			a, b := t.join("a", t.lease()).beat(wants(10)), t.join("b", longLease)
			t.pass(t.lease() + time.Millisecond)
			b.beat(suspects(a))
			c := t.join("c", longLease)
			c.leave()
			t.reopen()
			expect(t.storeTest, t.members(), "b", "after Reopen a term is there again")
			t.refused(t.tryCommit(a.Fence, "1"), fleet.ErrFenced, "Commit after Reopen with the fence of a term that was ended")
			t.refused(t.tryCommit(c.Fence, "1"), fleet.ErrFenced, "Commit after Reopen with the fence of a term that has left")
		}),
	}
}
