package storetest

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage"
)

// lifecycleCases test contexts, Close, and concurrent use of several stores.
func lifecycleCases() []storeCase {
	var cases []storeCase
	for _, role := range storeRoleNames {
		var calls []storeCall
		for _, c := range storeCalls() {
			if c.role == role {
				calls = append(calls, c)
			}
		}
		cases = append(cases,
			storeCase{name: role + " honours a context that has ended", run: func(t *storeTest) {
				t.furnish()
				before := t.view()
				cancelled, cancel := context.WithCancel(t.Context())
				cancel()
				late, cancel := context.WithDeadline(t.Context(), time.Unix(1, 0))
				defer cancel()
				for _, c := range calls {
					t.refused(c.do(cancelled, t.store, t.start), context.Canceled, "%s.%s has to give back the error of a context that has ended", role, c.method)
					t.refused(c.do(late, t.store, t.start), context.DeadlineExceeded, "%s.%s has to give back the error of a context that has ended", role, c.method)
					t.same(t.view(), before, "%s.%s changed the store although its context had ended", role, c.method)
				}
			}},
			storeCase{name: role + " fails after Close", run: func(t *storeTest) {
				t.furnish()
				s := t.store
				t.close()
				for _, c := range calls {
					t.refused(c.do(t.Context(), s, t.start), errAny, "%s.%s has to fail after Close", role, c.method)
				}
			}},
		)
	}
	return append(cases,
		storeCase{name: "every call succeeds on an open store", run: func(t *storeTest) {
			for _, c := range storeCalls() {
				one := &storeTest{TB: t.TB, kit: t.kit, start: t.start, store: t.kit.Open(t.TB)}
				one.furnish()
				t.refused(c.do(t.Context(), one.store, t.start), nil, "%s.%s", c.role, c.method)
				one.close()
			}
		}},
		storeCase{name: "an empty store answers questions", run: func(t *storeTest) {
			v := t.view()
			v.NextDue = time.Time{} // means nothing when there is no delivery
			t.same(v, storeView{Balances: make([]billing.Balance, 2), Totals: make([]billing.Credits, 3)}, "a store that was just opened has to be empty")
			expect(t, t.nextDue(), "none", "a store that was just opened has no deliveries")
		}},
		storeCase{name: "stores opened apart share nothing", run: func(t *storeTest) {
			t.furnish()
			other := &storeTest{TB: t.TB, kit: t.kit, start: t.start, store: t.kit.Open(t.TB)}
			defer other.close()
			before := t.view()
			other.furnish()
			expect(t, numbered(other.view().Events), numbered(before.Events), "a second store knew what was committed to the first")
			t.same(t.view(), before, "a second store changed the first")
		}},
		storeCase{name: "accessors give a role at any time", run: func(t *storeTest) {
			s := t.store
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() { accessorsGive(t, s) })
			}
			wg.Wait()
			t.close()
			accessorsGive(t, s)
		}},
		storeCase{name: "roles at work at once do not hinder each other", run: func(t *storeTest) {
			t.furnish()
			var wg sync.WaitGroup
			for _, c := range storeCalls() {
				for range 3 {
					wg.Go(func() { c.do(t.Context(), t.store, t.start) })
				}
			}
			wg.Wait()
			t.view() // still answers
		}},
		storeCase{name: "Close beside calls leaves each of them done or refused", run: func(t *storeTest) { endBesideCalls(t, t.close) }},
	)
}

func accessorsGive(t *storeTest, s storage.Store) {
	for name, role := range map[string]any{
		"Records": s.Ports().Records, "State": s.Ports().State, "Monitors": roles.Monitors(s.Ports().Records), "Rules": roles.Rules(s.Ports().Records), "Endpoints": roles.Endpoints(s.Ports().Records),
		"Journal": s.Ports().Journal, "Outbox": s.Ports().Outbox, "Log": s.Ports().Log, "Replays": s.Ports().Replays, "Ledger": s.Ports().Ledger,
	} {
		if role == nil {
			t.Errorf("%s is nil: an accessor never returns nil", name)
		}
	}
}

// endBesideCalls ends the store while four goroutines commit. It returns the tweets of the
// acknowledged commits.
func endBesideCalls(t *storeTest, end func()) (acknowledged []string) {
	const enough = 5 // acknowledged commits of each goroutine before the store ends
	const most = 500 // maximum commits of each goroutine, because the case reads at most 10,000 events
	s := t.store
	var mu sync.Mutex
	var wg, ready sync.WaitGroup
	for w := range 4 {
		ready.Add(1)
		wg.Go(func() {
			for i := range most {
				if i == enough {
					ready.Done()
				}
				tweet := fmt.Sprint(w, "-", i)
				err := s.Ports().Journal.Commit(context.Background(), []*detect.Batch{{Events: []deliver.Event{newEvent(acme, tweet, "log")}}})
				if err != nil {
					if i < enough {
						t.Errorf("Commit failed before the store was closed: %v", err)
						ready.Done()
					}
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, tweet)
				mu.Unlock()
			}
		})
	}
	ready.Wait()
	end()
	wg.Wait()
	return acknowledged
}
