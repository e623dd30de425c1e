package storetest

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// preciseCases test times that differ by less than a millisecond.
func preciseCases() []storeCase {
	const us = time.Microsecond
	after := func(t *storeTest, d time.Duration) time.Time { return t.start.Add(d) }
	return []storeCase{
		{name: "Claim compares to the microsecond", run: func(t *storeTest) {
			for i, due := range []time.Duration{700, -300, 300, 301} {
				t.commitDue(after(t, due*us), newEvent(acme, fmt.Sprint(i+1), "log"))
			}
			for _, row := range []struct {
				now  time.Duration
				want string
			}{{-301, ""}, {-300, "2"}, {0, ""}, {299, ""}, {300, "3"}, {699, "4"}, {700, "1"}} {
				expect(t, tweetsOf(t.claim(after(t, row.now*us), 10)), row.want, "Claim %v after the start has to give what is due by then, to the microsecond", row.now*us)
			}
		}},
		{name: "Claim gives the longest due first to the microsecond", run: func(t *storeTest) {
			for i, due := range []time.Duration{700, 300, 301, 1} {
				t.commitDue(after(t, due*us), newEvent(acme, fmt.Sprint(i+1), "log"))
			}
			expect(t, tweetsOf(t.claim(t.at(1), 10)), "4 2 3 1", "Claim has to give the longest due first, to the microsecond")
		}},
		{name: "a lease and a retry end to the microsecond", run: func(t *storeTest) {
			id := withDue(t, 0)[0].ID
			claim := func(now time.Duration) []deliver.Delivery {
				t.Helper()
				ds, err := t.store.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: after(t, now*us), Lease: time.Millisecond + us, Limit: 1})
				t.ok(err, "Outbox.Claim")
				return ds
			}
			due := func(want time.Duration, of string) {
				t.Helper()
				got, _, err := t.store.Ports().Outbox.NextDue(t.Context(), nil)
				t.ok(err, "Outbox.NextDue")
				t.same(got, after(t, want*us), "NextDue has to give the end of %s to the microsecond", of)
				expect(t, len(claim(want-1)), 0, "Claim gave a delivery a microsecond before the end of %s", of)
			}
			ds := claim(299)
			if len(ds) != 1 {
				t.Fatalf("Claim gave %d deliveries, want 1", len(ds))
			}
			t.same(ds[0].Due, after(t, 1300*us), "Claim has to move Due to ClaimRequest.Now + Lease, to the microsecond")
			due(1300, "a lease")
			expect(t, len(claim(1300)), 1, "Claim has to give a delivery again when its lease has ended, to the microsecond")
			t.settle(attempted(id, 1, deliver.StateRetrying, after(t, 5301*us)))
			due(5301, "a retry's wait")
			expect(t, len(claim(5301)), 1, "Claim has to give a retry when it is due, to the microsecond")
		}},
	}
}
