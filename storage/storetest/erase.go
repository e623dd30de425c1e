package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// eraseTest is a furnished store.
type eraseTest struct {
	*storeTest
	theirs storeView // the view of globex before any Erase
}

// eraseCases test what Erase leaves of acme, the erased owner, and of globex, another one.
func eraseCases() []storeCase {
	return append(append(eraseLifeCases(), eraseTotalsCase()),
		onEraser("of an erased owner nothing is shown", func(t eraseTest) {
			t.erase("acme", "kept")
			t.same(t.viewOf("acme"), storeView{}, "after Erase the store shows something of the owner")
			expect(t.storeTest, len(t.claim(t.at(1e6), 10)), 0, "after Erase Claim gave a delivery of the owner")
			due, err := t.store.Ports().Replays.Running(t.Context(), t.at(1e6), 10)
			t.ok(err, "Replays.Running")
			expect(t.storeTest, len(due), 0, "after Erase a replay of the owner runs")
			_, err = t.store.Ports().Records.Find(t.Context(), record.APIKey, "lookup of the key")
			t.refused(err, record.ErrNotFound, "Find found a record of an erased owner")
		}),
		onEraser("other owners keep everything", func(t eraseTest) {
			t.erase("acme", "kept")
			t.same(t.viewOf("globex"), t.theirs, "Erase changed what another owner has")
			expect(t.storeTest, len(t.cursors("theirs")), 1, "Erase removed a cursor that it was not told of")
		}),
		onEraser("Erase counts what it removed", func(t eraseTest) {
			e := t.erase("acme", "kept", "no such target")
			expect(t.storeTest, e.Changes, 5, "Erase has to count the entries of the feed that lost the owner's name")
			e.Changes = 0
			want := storage.Erased{Monitors: 1, Rules: 1, Endpoints: 2, Keys: 1, Answers: 1, Replays: 1, Events: 2, Deliveries: 3, Attempts: 2, Entries: 2, Reservations: 1, Cursors: 1}
			t.same(e, want, "Erase has to count what it removed")
			t.same(t.erase("acme", "kept"), storage.Erased{}, "a second Erase found something")
			t.same(t.erase("nobody"), storage.Erased{}, "Erase of an unknown owner found something")
		}),
		onEraser("an owner is a whole name and no pattern", func(t eraseTest) {
			for _, owner := range []string{"acm", "acme ", "ACME", "%", "*", "acme\x00", ""} {
				t.same(t.erase(owner), storage.Erased{}, "Erase took %q for acme", owner)
			}
			expect(t.storeTest, len(t.viewOf("acme").Events), 2, "Erase of another name removed an owner's events")
		}),
		onEraser("what was settled late, or is tried again, harms nobody", func(t eraseTest) {
			id := deliver.DeliveryID(deliver.EventID("src", "0"), deliver.HandlerEndpoint("log"))
			t.erase("acme")
			t.settle(attempted(id, 2, deliver.StateDelivered, t.start))
			_, err := t.store.Ports().Log.Delivery(t.Context(), "acme", id)
			t.refused(err, deliver.ErrDeliveryNotFound, "a settlement brought a delivery of an erased owner back")
			n, err := t.store.Ports().Outbox.Reopen(t.Context(), deliver.ReopenRequest{Owner: "acme", IDs: []string{id}, Due: t.start})
			t.ok(err, "Outbox.Reopen")
			expect(t.storeTest, n, 0, "Reopen found a delivery of an erased owner")
			t.same(t.viewOf("globex"), t.theirs, "a settlement for an erased owner changed what another one has")
		}),
		onEraser("many events go, and retention goes on", func(t eraseTest) {
			t.remove("globex", endpointKey("theirs")) // open deliveries would stay
			for n := range 20 {
				b := &detect.Batch{DeliverBy: t.start}
				for k := range 50 {
					b.Events = append(b.Events, newEvent(acme, fmt.Sprint("many ", n, " ", k)), newEvent(globex, fmt.Sprint("many ", n, " ", k)))
				}
				t.commit(b)
			}
			expect(t.storeTest, t.erase("acme").Events, 1002, "Erase has to remove all events")
			expect(t.storeTest, len(t.events("acme")), 0, "Erase left events")
			expect(t.storeTest, len(t.events("globex")), 1001, "Erase removed another owner's events")
			if t.kit.Clock == nil || t.kit.Retention == 0 {
				return
			}
			t.kit.Clock.Advance(2 * t.kit.Retention)
			for n := range 20 { // a write removes a part
				b := &detect.Batch{}
				for k := range 100 {
					b.Events = append(b.Events, newEvent(globex, fmt.Sprint("later ", n, " ", k)))
				}
				t.commit(b)
			}
			old := only(t.events("globex"), func(ev deliver.Event) bool { return strings.HasPrefix(ev.TweetID, "many ") })
			expect(t.storeTest, len(old), 0, "after Erase retention has to go on")
		}),
	)
}

func eraseTotalsCase() storeCase {
	return eraseNeeds(needsEntryRetention, onEraser("totals go, also when their entries have gone before", func(t eraseTest) {
		theirs := billing.Source{Owner: "globex", Kind: billing.KindRule, ID: "a"}
		t.topUp("acme", 10)
		l := &ledgerTest{t.storeTest, "Erase has to remove the totals of the owner, and no other one's"}
		l.add(nil, entryOf(ruleA, "old rule", -1), entryOf(monitorA, "old monitor", -2), entryOf(theirs, "theirs", 3))
		t.kit.Clock.Advance(t.kit.EntryRetention)
		n := 0
		if !usedUntil(t.storeTest, func() bool {
			n++
			l.add(nil, billing.Entry{ID: fmt.Sprint("later ", n), Owner: "globex", Kind: billing.KindTopUp, Amount: 1})
			return t.lines(billing.EntryQuery{Owner: "acme"}) == ""
		}) {
			t.Fatalf("entries are there still although Kit.EntryRetention has passed")
		}
		l.total("-1 -2 3", ruleA, monitorA, theirs)
		t.erase("acme")
		l.total("0 0 3", ruleA, monitorA, theirs)
	}))
}

// eraseLifeCases test a new owner with the name of the erased one, restarts, and the stored rows.
func eraseLifeCases() []storeCase {
	src := storeSource("acme", "src")
	return []storeCase{
		onEraser("who comes after begins anew, with other numbers", func(t eraseTest) {
			t.erase("acme", "kept")
			b := t.commitDue(t.start, append(newEvents(src, "21", "22"), newEvent(globex, "23"))...)
			expect(t.storeTest, seqsOf(b.Events), "3 4 2", "the numbers of an owner after an erasure have to begin after the greatest that an erased owner had, and those of others go on")
			expect(t.storeTest, endpointsOf(b.Deliveries), "theirs", "Commit made deliveries to endpoints of an erased owner")
			t.same(t.events("acme"), b.Events[:2], "Log.Events has to give the events of who came after")
			b = t.commitDue(t.start, newEvent(storeSource("initech", "m"), "1"), newEvent(src, "24"))
			expect(t.storeTest, seqsOf(b.Events), "3 5", "numbers have to go on without holes after an erasure")
			t.topUp("acme", 5)
			expect(t.storeTest, t.balance("acme"), "5+0", "a balance after an erasure has to begin at 0")
			t.put(fullRecord(t.storeTest, monitorKey("kept")), t.endpoint(src, "kept")) // ids and names are free
		}),
		onEraser("numbers go on after a second erasure", func(t eraseTest) {
			t.erase("acme")
			t.commitDue(t.start, newEvents(src, "21", "22", "23")...)
			t.erase("acme")
			t.erase("globex") // had one event: the greatest number counts
			b := t.commitDue(t.start, newEvent(globex, "24"), newEvent(src, "25"))
			expect(t.storeTest, seqsOf(b.Events), "6 6", "numbers have to begin after the greatest that any erased owner had")
		}),
		onEraser("events of who comes after can be replayed", func(t eraseTest) {
			t.erase("acme")
			t.commitDue(t.start, newEvents(src, "21", "22")...)
			t.bind(src, "late")
			rp := replayOf(t.storeTest, src, "late", "r")
			startReplay(t.storeTest, rp)
			var made []deliver.Delivery
			for n := 0; n < 5 && rp.State == deliver.ReplayRunning; n++ {
				var ds []deliver.Delivery
				rp, ds = stepReplay(t.storeTest, rp, 10)
				made = append(made, ds...)
			}
			expect(t.storeTest, tweetsOf(made), "21 22", "a replay has to find the events after an erasure")
			expect(t.storeTest, rp.State, deliver.ReplayDone, "a replay has to end")
		}),
		eraseNeeds(needsDurable, onEraser("an erasure survives a restart", func(t eraseTest) {
			t.erase("acme", "kept")
			t.reopen()
			t.same(t.viewOf("acme"), storeView{}, "after Reopen the store shows something of an erased owner")
			t.same(t.viewOf("globex"), t.theirs, "after Erase and Reopen another owner does not have what it had")
			b := t.commitDue(t.start, newEvent(src, "21"))
			expect(t.storeTest, seqsOf(b.Events), "3", "after Reopen numbers begin after the greatest that an erased owner had")
		})),
		onEraser("no row or key has anything of the owner", func(t eraseTest) {
			if t.kit.Dump == nil {
				t.Skip("Kit.Dump is nil: the rows or keys of the store are not known")
			}
			words := []string{"acme", "name of the monitor", "lookup of the key", "note of the monitor", "example.com/kept", "data of the endpoint kept", "post of an erased owner", "erased-account"}
			ev := newEvent(src, "31", "log")
			ev.Body, ev.TextPreview = []byte("post of an erased owner"), "post of an erased owner"
			t.commit(&detect.Batch{Events: []deliver.Event{ev}, Cursor: &detect.Cursor{Target: "erased-account", Since: t.start}, DeliverBy: t.start})
			t.swap(record.Name{Space: "answer", Owner: "acme", ID: "request answered"}, 0, "answer of an erased owner", time.Hour)
			words = append(words, "request answered", "answer of an erased owner")
			before := t.kit.Dump(t.TB, t.store)
			for _, word := range words {
				expect(t.storeTest, strings.Contains(before, word), true, "Kit.Dump has to give all rows or keys: %q is not there before Erase", word)
			}
			gone := record.Change{Gone: &record.Gone{Owner: "acme", Until: t.at(3600)}}
			t.apply(gone)
			t.erase("acme", "kept", "erased-account")
			t.apply(gone)
			after := t.kit.Dump(t.TB, t.store)
			for _, word := range words {
				expect(t.storeTest, strings.Contains(after, word), false, "after Gone, Erase and Gone a row or key has %q of an erased owner", word)
			}
			expect(t.storeTest, strings.Contains(after, "globex"), true, "after Erase no row or key has anything of another owner, or Kit.Dump gives others")
		}),
	}
}

// onEraser returns a case for a store with a Sweeper. Other stores skip it.
func onEraser(name string, run func(eraseTest)) storeCase {
	return storeCase{name: name, run: func(t *storeTest) {
		if t.store.Ports().Sweeper == nil {
			t.Skip("the store has no Sweeper")
		}
		t.furnish()
		t.put(newMonitor("globex", globex.ID), t.endpoint(globex, "theirs"), record.Record{Key: record.Key{Kind: record.APIKey, ID: "theirs"}, Owner: "globex", Lookup: "their lookup"})
		t.commit(&detect.Batch{Cursor: &detect.Cursor{Target: "theirs", Since: t.start}})
		run(eraseTest{t, t.viewOf("globex")})
	}}
}

func eraseNeeds(n needs, c storeCase) storeCase {
	c.needs |= n
	return c
}

// viewOf returns what the store shows of one owner.
func (t *storeTest) viewOf(owner string) (v storeView) {
	t.Helper()
	all := t.view()
	v.Records = only(all.Records, func(r record.Record) bool { return r.Owner == owner })
	v.Replays = only(all.Replays, func(r deliver.Replay) bool { return r.Owner == owner })
	v.Events = only(all.Events, func(ev deliver.Event) bool { return ev.Source.Owner == owner })
	v.Deliveries = only(all.Deliveries, func(d deliver.LogEntry) bool { return d.Event.Source.Owner == owner })
	v.Entries = only(all.Entries, func(e billing.Entry) bool { return e.Owner == owner })
	balance, err := t.store.Ports().Ledger.Balance(t.Context(), owner)
	t.ok(err, "Ledger.Balance")
	if balance != (billing.Balance{}) {
		v.Balances = []billing.Balance{balance}
	}
	if owner == "acme" {
		v.Values, v.Cursors = all.Values, all.Cursors
		for _, total := range all.Totals {
			if total != 0 {
				v.Totals = append(v.Totals, total)
			}
		}
	}
	return v
}

func only[T any](list []T, keep func(T) bool) (kept []T) {
	for _, v := range list {
		if keep(v) {
			kept = append(kept, v)
		}
	}
	return kept
}

func (t *storeTest) erase(owner string, targets ...string) storage.Erased {
	t.Helper()
	e, err := t.store.Ports().Sweeper.Sweep(t.Context(), owner, targets...)
	t.ok(err, "Erase")
	return e
}
