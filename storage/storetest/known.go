package storetest

import (
	"fmt"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// knownBatchCases test batches with known events, and result fields of a batch that the caller has
// already filled.
func knownBatchCases() []storeCase {
	return []storeCase{
		{name: "a batch of known events moves its cursor and makes its charges", run: func(t *storeTest) {
			t.topUp("acme", 10)
			poll := func(n int, charges ...billing.Entry) *detect.Batch {
				b := &detect.Batch{Events: newEvents(acme, "1", "2"), Charges: charges, Cursor: &detect.Cursor{Target: "t1", Since: t.at(n)}}
				t.commit(b)
				return b
			}
			poll(1, line("c1", -1))
			b := poll(2, line("c1", -1), line("c2", -2), line("c3", -99))
			expect(t, seqsOf(b.Events), "0 0", "Commit accepted an event whose id it knew")
			t.same(t.cursors("t1"), []detect.Cursor{{Target: "t1", Since: t.at(2)}}, "Commit has to store the cursor of a batch whose events are all known")
			expect(t, t.balance("acme"), "7+0", "Commit has to make the charges of a batch whose events are all known")
			expect(t, fmt.Sprint(b.Unpaid), "[c3]", "Commit has to name the unpaid charges of a batch whose events are all known")
		}},
		{name: "an event id is known over all owners", run: func(t *storeTest) {
			as := func(src deliver.Source, id string) deliver.Event {
				ev := newEvent(src, "1", "log")
				ev.ID = id
				return ev
			}
			t.commitDue(t.start, as(acme, "evt_before"))
			b := t.commitDue(t.start, as(globex, "evt_before"), as(acme, "evt_now"), as(globex, "evt_now"), as(globex, "evt_theirs"))
			expect(t, seqsOf(b.Events), "0 2 0 1", "Commit accepted an event whose id it knew from another owner, or left a hole in the numbers for it")
			expect(t, len(b.Deliveries), 2, "Commit made deliveries of an event whose id it knew from another owner")
			expect(t, len(t.claim(t.start, 10)), 3, "the outbox has to have one delivery for each event id")
			expect(t, len(t.events("globex")), 1, "Log.Events shows an owner an event of another owner")
		}},
		{name: "a known event in a batch keeps all but its Seq", run: func(t *storeTest) {
			first := t.commitDue(t.start, fullEvent(t)).Events[0]
			again := fullEvent(t)
			again.Seq, again.CommittedAt, again.TextPreview, again.Body = 7, t.at(3600), "changed", []byte(`{"event":"changed"}`)
			b := t.commitDue(t.start, again)
			again.Seq = 0
			t.same(b.Events[0], again, "Commit may set Seq of a known event to 0, and no more: its CommittedAt stays as it was given")
			t.same(t.events("acme"), []deliver.Event{first}, "an event changed when it was found again: the first one counts")
		}},
		{name: "an event whose charge was not paid stays known", run: func(t *storeTest) {
			b := &detect.Batch{Events: []deliver.Event{newEvent(acme, "1", "log")}, Charges: []billing.Entry{line("c", -4)}, DeliverBy: t.start}
			t.commit(b)
			t.topUp("acme", 10)
			b.Deliveries, b.Unpaid = nil, nil
			t.commit(b)
			expect(t, seqsOf(b.Events), "0", "Commit forgot an event because its charge was not paid")
			expect(t, t.logged("acme"), "1:1", "Commit recorded an event again because its charge was not paid")
			expect(t, t.balance("acme"), "6+0", "Commit has to make a charge that was not paid before")
			expect(t, len(t.claim(t.start, 10)), 1, "an event whose charge was not paid has its delivery once")
		}},
		{name: "what Commit has to tell is appended to what a batch has", run: func(t *storeTest) {
			b := &detect.Batch{
				Events: []deliver.Event{newEvent(acme, "1", "log")}, Charges: []billing.Entry{line("c", -4)}, DeliverBy: t.start,
				Deliveries: []deliver.Delivery{{ID: "before", EndpointID: "before"}}, Unpaid: []string{"before"},
			}
			t.commit(b)
			expect(t, endpointsOf(b.Deliveries), "before handler:log", "Commit has to append to Batch.Deliveries, not to replace it")
			expect(t, fmt.Sprint(b.Unpaid), "[before c]", "Commit has to append to Batch.Unpaid, not to replace it")
		}},
		{name: "an event has as many deliveries as receivers", run: func(t *storeTest) {
			const handlers = 297
			t.bind(acme, "a", "b", "c")
			ev := newEvent(acme, "1")
			for i := range handlers {
				ev.Handlers = append(ev.Handlers, fmt.Sprint("handler ", i))
			}
			b := t.commitDue(t.start, ev)
			expect(t, len(b.Deliveries), handlers+3, "Commit has to make a delivery for each receiver, however many there are")
			expect(t, len(t.claim(t.start, 1000)), handlers+3, "the outbox lost deliveries of an event with many receivers")
			t.same(t.events("acme"), b.Events, "Log.Events gave another event than was committed")
		}},
	}
}
