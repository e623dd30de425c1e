package storetest

import (
	"github.com/streamwatch/streamwatch/deliver"
)

// cutCalls are the calls that change something. Those that take lists are in cutCases.
var cutCalls = []string{
	"Records.Apply", "State.Swap", "Outbox.Claim", "Outbox.Reopen",
	"Replays.Start", "Replays.Step", "Ledger.Reserve", "Ledger.Commit", "Ledger.Release",
}

// cutCallCases make each call again and again, and end its context at a later moment each time,
// until the call is done.
func cutCallCases() []storeCase {
	calls := map[string]storeCall{}
	for _, c := range storeCalls() {
		calls[c.role+"."+c.method] = c
	}
	var cases []storeCase
	for _, name := range cutCalls {
		cases = append(cases, storeCase{name: name + " is done whole or not at all when its context ends", needs: needsClock, run: func(t *storeTest) {
			call := calls[name]
			ready := func(t *storeTest) {
				t.furnish()
				switch name {
				case "Outbox.Claim":
					t.commitDue(t.start, newEvent(acme, "due", "log"))
				case "Outbox.Reopen":
					t.settle(attempted(deliver.DeliveryID(deliver.EventID("src", "1"), "kept"), 1, deliver.StateFailed, t.start))
				}
			}
			twin := &storeTest{TB: t.TB, kit: t.kit, start: t.start, store: t.kit.Open(t.TB)}
			defer twin.close()
			ready(twin)
			t.ok(call.do(t.Context(), twin.store, t.start), name)
			after := twin.view()

			ready(t)
			before := t.view()
			if differs(after, before) == "" {
				t.Fatalf("%s returned nil and changed nothing: it has to return nil only when it is done", name)
			}
			for n := range mostLooks {
				ctx := endAfter(t.Context(), n)
				err := call.do(ctx, t.store, t.start)
				ctx.over()
				is := t.view()
				if differs(is, after) != "" && differs(is, before) != "" {
					is = t.view() // look again: a server may complete a request after the call has returned
				}
				if differs(is, after) == "" {
					return
				}
				if d := differs(is, before); d != "" {
					t.Fatalf("%s was done in part when its context ended at look %d: %s (the error is %v)", name, n+1, d, err)
				}
				if err == nil {
					t.Fatalf("%s returned nil when its context ended at look %d, and did nothing", name, n+1)
				}
			}
		}})
	}
	return cases
}
