package storetest

import (
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/record"
)

// fullRecord returns a record to create with a value in every field.
func fullRecord(t *storeTest, k record.Key) record.Record {
	return record.Record{
		Key: k, Owner: "acme", Name: "name of the " + string(k.Kind), Lookup: "lookup of the " + string(k.Kind), Status: "active", Size: 3, Price: 1 << 40,
		CreatedAt: t.start.Add(time.Microsecond), UpdatedAt: t.at(3), Data: []byte("data of the " + string(k.Kind)),
	}
}

// keptValue names the value that furnish makes, newValue the one that storeCalls makes.
var (
	keptValue = record.Name{Space: "values", Owner: "acme", ID: "kept"}
	newValue  = record.Name{Space: "values", Owner: "acme", ID: "new"}
)

// furnish adds one record of every kind to the store, of the owner acme and with the id "kept", and
// a value. It also adds a disabled endpoint, a claimed delivery, a delivery that waits for a retry and, for
// globex, a delivered event, credits and a reservation.
func (t *storeTest) furnish() {
	t.Helper()
	ctx := t.Context()
	c, src := fullCursor(t, "kept"), storeSource("acme", "src")
	monitor := fullRecord(t, monitorKey("kept"))
	t.put(monitor, fullRecord(t, ruleKey("kept")), fullRecord(t, record.Key{Kind: record.APIKey, ID: "kept"}), t.endpoint(src, "kept"),
		edited(t.endpoint(src, "off"), func(r *record.Record) { r.Status = "disabled" }))
	t.apply(record.Change{Notes: []record.Note{{Ref: refOf("acme", monitor.Key, 1), Text: "note of the monitor"}}})
	t.swap(keptValue, 0, "value", 1000*time.Hour)
	l := t.store.Ports().Ledger
	t.ok(l.Append(ctx, line("top-up", 10), billing.Entry{ID: "their top-up", Owner: "globex", Kind: billing.KindTopUp, Amount: 7}), "Ledger.Append")
	t.ok(l.Reserve(ctx, billing.Reservation{ID: "kept", Owner: "acme", Amount: 4, ExpiresAt: t.at(3600)}), "Ledger.Reserve")
	t.ok(l.Reserve(ctx, billing.Reservation{ID: "theirs", Owner: "globex", Amount: 2}), "Ledger.Reserve")
	t.commit(&detect.Batch{
		Cursor: &c, Events: []deliver.Event{newEvent(src, "1"), newEvent(src, "0", "log"), newEvent(globex, "9", "log")}, DeliverBy: t.start,
		Charges: []billing.Entry{fullEntry(t, "charge of the start", -1)},
	})
	var ss []deliver.Settlement
	for _, d := range t.claim(t.start, 10) {
		switch d.Event.TweetID {
		case "0":
			ss = append(ss, attempted(d.ID, 1, deliver.StateRetrying, t.at(30)))
		case "9":
			ss = append(ss, attempted(d.ID, 1, deliver.StateDelivered, t.start))
		}
	}
	t.settle(ss...)
	rp := replayOf(t, src, "kept", "kept")
	rp.Created, rp.Reopened, rp.Left, rp.Removed, rp.Due = 3, 4, 5, 6, t.at(45)
	startReplay(t, rp)
}

// storeView is everything that a store shows of acme and globex.
type storeView struct {
	Records    []record.Record
	Feed       uint64   // the number of the last entry
	Values     []string // of keptValue and newValue
	Cursors    []detect.Cursor
	Events     []deliver.Event
	Deliveries []deliver.LogEntry
	Replays    []deliver.Replay
	NextDue    time.Time
	Balances   []billing.Balance // of each owner
	Entries    []billing.Entry
	Totals     []billing.Credits // of the monitor kept, the rule kept and the monitor m1
}

func (t *storeTest) view() storeView {
	t.Helper()
	ctx := t.Context()
	v := storeView{Feed: t.last(), Cursors: t.cursors("kept")}
	for _, name := range []record.Name{keptValue, newValue} {
		if value, err := t.store.Ports().State.Get(ctx, name); !errors.Is(err, record.ErrNotFound) {
			t.ok(err, "State.Get")
			v.Values = append(v.Values, string(value.Data))
		}
	}
	for _, owner := range []string{"acme", "globex"} {
		for _, kind := range recordKinds {
			list, _, err := t.store.Ports().Records.List(ctx, record.Query{Owner: owner, Kind: kind, Limit: 100})
			t.ok(err, "Records.List")
			v.Records = append(v.Records, list...)
			for _, r := range list {
				if rp, err := t.store.Ports().Replays.Get(ctx, owner, r.ID); kind == record.Endpoint && !errors.Is(err, deliver.ErrReplayNotFound) {
					t.ok(err, "Replays.Get")
					v.Replays = append(v.Replays, rp)
				}
			}
		}
		v.Events = append(v.Events, t.events(owner)...)
		log, err := t.store.Ports().Log.Deliveries(ctx, deliver.LogQuery{Owner: owner, PageSize: 1000})
		t.ok(err, "Log.Deliveries")
		v.Deliveries = append(v.Deliveries, log.Entries...)
		balance, err := t.store.Ports().Ledger.Balance(ctx, owner)
		t.ok(err, "Ledger.Balance")
		v.Balances = append(v.Balances, balance)
		entries, err := t.store.Ports().Ledger.Entries(ctx, billing.EntryQuery{Owner: owner, PageSize: 1000})
		t.ok(err, "Ledger.Entries")
		v.Entries = append(v.Entries, entries.Entries...)
	}
	var err error
	v.Totals, err = t.store.Ports().Ledger.Totals(ctx, billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "kept"},
		billing.Source{Owner: "acme", Kind: billing.KindRule, ID: "kept"}, billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "m1"})
	t.ok(err, "Ledger.Totals")
	v.NextDue, _, err = t.store.Ports().Outbox.NextDue(ctx, nil)
	t.ok(err, "Outbox.NextDue")
	return v
}
