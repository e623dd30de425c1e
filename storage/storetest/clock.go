package storetest

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// clockCases test the times that a store gets, and the times of its own clock.
func clockCases() []storeCase {
	cases := timeCases()
	return append(cases,
		storeCase{name: "a commit stamps with the store's clock", needs: needsClock, run: func(t *storeTest) {
			t.kit.Clock.Advance(time.Second)
			ev := newEvent(acme, "1", "log")
			ev.CommittedAt = t.at(3600) // has to be replaced
			b := t.commitDue(t.start, ev)
			t.kit.Clock.Advance(time.Minute)
			t.commitDue(t.start, ev, newEvent(acme, "2"))
			evs := t.events("acme")
			if len(evs) != 2 || len(b.Deliveries) != 1 {
				t.Fatalf("%d events and %d deliveries, want 2 and 1", len(evs), len(b.Deliveries))
			}
			for what, row := range map[string][2]time.Time{
				"Batch.Events":                {b.Events[0].CommittedAt, t.at(1)},
				"the event of a delivery":     {b.Deliveries[0].Event.CommittedAt, t.at(1)},
				"CreatedAt of a delivery":     {b.Deliveries[0].CreatedAt, t.at(1)},
				"an event found again":        {evs[0].CommittedAt, t.at(1)},
				"an event of a later commit":  {evs[1].CommittedAt, t.at(61)},
				"the event of a log entry":    {t.entry("acme", b.Deliveries[0].ID).Event.CommittedAt, t.at(1)},
				"the event of a claimed one":  {t.claim(t.start, 1)[0].Event.CommittedAt, t.at(1)},
				"CreatedAt of the same event": {t.entry("acme", b.Deliveries[0].ID).CreatedAt, t.at(1)},
			} {
				expect(t, row[0].Equal(row[1]), true, "Commit has to stamp new events with the store's clock: %s says %v, want %v", what, row[0], row[1])
			}
		}},
		storeCase{name: "claims go by the caller's clock", run: func(t *storeTest) {
			withDue(t, -3600, 3600)
			expect(t, tweetsOf(t.claim(t.at(-3601), 10)), "", "Claim has to compare Due with ClaimRequest.Now, not with the store's clock")
			expect(t, tweetsOf(t.claim(t.at(-3600), 10)), "1", "Claim has to compare Due with ClaimRequest.Now, not with the store's clock")
			expect(t, tweetsOf(t.claim(t.at(3600), 10)), "1 2", "Claim has to compare Due with ClaimRequest.Now, not with the store's clock")
		}},
		storeCase{name: "engines that share a store have its clock", needs: needsShared | needsClock, run: func(t *storeTest) {
			t.kit.Clock.Advance(time.Hour)
			if now := t.store.Ports().Now; now == nil || !now().Equal(t.kit.Clock.Now()) {
				t.Errorf("Ports.Now is nil or differs from the store's clock, want the clock with Members")
			}
		}},
		storeCase{name: "what was reserved is there for charges at its expiry", needs: needsClock, run: func(t *storeTest) {
			t.topUp("acme", 10)
			t.ok(t.store.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: "r", Owner: "acme", Amount: 10, ExpiresAt: t.at(1)}), "Ledger.Reserve")
			charge := func(id string) string {
				b := &detect.Batch{Charges: []billing.Entry{line(id, -10)}}
				t.commit(b)
				return fmt.Sprint(b.Unpaid)
			}
			expect(t, charge("early"), "[early]", "Journal.Commit charged what a reservation holds back")
			t.kit.Clock.Advance(time.Second)
			expect(t, charge("late"), "[]", "Journal.Commit has to see that a reservation has expired")
		}},
		storeCase{name: "a clock that steps back changes no order", needs: needsClock, run: func(t *storeTest) {
			t.commitDue(t.start, newEvent(acme, "1", "log"))
			t.kit.Clock.Advance(-time.Hour)
			defer t.kit.Clock.Advance(time.Hour)
			t.commitDue(t.start, newEvent(acme, "2", "log"))
			t.topUp("acme", 5)
			expect(t, t.logged("acme"), "1:1 2:2", "events are in the order of their commits, whatever the clock said")
			p, err := t.store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "acme", Asc: true})
			t.ok(err, "Log.Deliveries")
			expect(t, joined(p.Entries, func(e deliver.LogEntry) string { return e.Event.TweetID }), "1 2", "the delivery log is in the order of the commits, whatever the clock said")
		}},
	)
}

// timeCases test that every time comes back as the same instant, to the microsecond.
func timeCases() []storeCase {
	var cases []storeCase
	for _, row := range []struct {
		name string
		of   func(start time.Time) time.Time
	}{
		{"none", func(time.Time) time.Time { return time.Time{} }},
		{"1970, which is not none", func(time.Time) time.Time { return time.Unix(0, 0) }},
		{"before 1970", func(time.Time) time.Time { return time.Date(1969, 7, 20, 20, 17, 40, 123_456_000, time.UTC) }},
		{"far in the future", func(time.Time) time.Time { return time.Date(2200, 1, 1, 0, 0, 0, 1000, time.UTC) }},
		{"in another zone", func(start time.Time) time.Time { return start.In(time.FixedZone("east", 14*3600)) }},
		{"of a running clock", func(time.Time) time.Time { return time.Now().Truncate(time.Microsecond) }},
	} {
		cases = append(cases, storeCase{name: "a time survives: " + row.name, run: func(t *storeTest) {
			at := row.of(t.start)
			m := newMonitor("acme", "m")
			m.CreatedAt, m.UpdatedAt = at, at
			t.put(m)
			m.Version = 1
			t.same(t.get("acme", m.Key), m, "a record's time did not survive")

			ev := fullEvent(t)
			ev.PublishedAt, ev.EarliestAt, ev.RequestedAt, ev.FetchedAt, ev.DetectedAt = at, at, at, at, at
			c := fullCursor(t, "t1")
			c.Since, c.Gaps[0].From, c.Gaps[0].To, c.Gaps[0].FoundAt = at, at, at, at
			charge := fullEntry(t, "c", 1)
			charge.At = at
			b := &detect.Batch{Events: []deliver.Event{ev}, Cursor: &c, Charges: []billing.Entry{charge}, DeliverBy: t.start}
			t.commit(b)
			ev.Seq, ev.CommittedAt = 1, b.Events[0].CommittedAt
			t.same(t.events("acme"), []deliver.Event{ev}, "an event's time did not survive")
			t.same(t.cursors("t1"), []detect.Cursor{c}, "a cursor's time did not survive")

			try := fullAttempt(t)
			try.At = at
			t.settle(deliver.Settlement{DeliveryID: b.Deliveries[0].ID, Attempt: &try, State: deliver.StateRetrying, Due: at})
			e := t.entry("acme", b.Deliveries[0].ID)
			t.same(e.Log, []deliver.Attempt{try}, "an attempt's time did not survive")
			t.same(e.Due, at, "a delivery's Due did not survive")
			due, open, err := t.store.Ports().Outbox.NextDue(t.Context(), nil)
			t.ok(err, "Outbox.NextDue")
			expect(t, open, true, "NextDue lost an open delivery because of its Due")
			t.same(due, at, "NextDue gave another time than the only delivery's Due")

			lines, err := t.store.Ports().Ledger.Entries(t.Context(), billing.EntryQuery{Owner: "acme"})
			t.ok(err, "Ledger.Entries")
			charge.Balance = 1
			t.same(lines.Entries, []billing.Entry{charge}, "an entry's time did not survive")
		}})
	}
	return cases
}
