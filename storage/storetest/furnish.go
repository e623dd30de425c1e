package storetest

import (
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// keptVersion is the Version of the records that furnish makes.
const keptVersion = 3

// furnish adds one record of every kind to the store, of the owner acme and with the id "kept". It
// also adds a disabled endpoint, a claimed delivery, a delivery that waits for a retry and, for
// globex, a delivered event, credits and a reservation.
func (t *storeTest) furnish() {
	t.Helper()
	ctx := t.Context()
	m, r, c := fullMonitor(t), fullRule(t), fullCursor(t, "kept")
	m.ID, r.ID, m.Version, r.Version = "kept", "kept", keptVersion, keptVersion
	t.ok(t.store.Monitors().Create(ctx, m), "Monitors.Create")
	t.ok(t.store.Rules().Create(ctx, r), "Rules.Create")
	src := storeSource("acme", "src")
	for _, row := range []struct {
		id     string
		status deliver.EndpointStatus
	}{{"kept", deliver.EndpointActive}, {"off", deliver.EndpointDisabled}} {
		e := t.endpoint(src, row.id)
		e.Status, e.Version = row.status, keptVersion
		t.ok(t.store.Endpoints().Create(ctx, e), "Endpoints.Create")
	}
	l := t.store.Ledger()
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
	Monitors   []monitor.Monitor
	Rules      []rule.Rule
	Endpoints  []deliver.Endpoint
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
	v := storeView{Cursors: t.cursors("kept")}
	for _, owner := range []string{"acme", "globex"} {
		monitors, err := t.store.Monitors().List(ctx, monitor.Query{Owner: owner, Page: 1, PageSize: 100})
		t.ok(err, "Monitors.List")
		v.Monitors = append(v.Monitors, monitors.Monitors...)
		rules, err := t.store.Rules().List(ctx, rule.Query{Owner: owner, Page: 1, PageSize: 100})
		t.ok(err, "Rules.List")
		v.Rules = append(v.Rules, rules.Rules...)
		endpoints, err := t.store.Endpoints().List(ctx, owner, "")
		t.ok(err, "Endpoints.List")
		v.Endpoints = append(v.Endpoints, endpoints...)
		for _, e := range endpoints {
			if r, err := t.store.Replays().Get(ctx, owner, e.ID); !errors.Is(err, deliver.ErrReplayNotFound) {
				t.ok(err, "Replays.Get")
				v.Replays = append(v.Replays, r)
			}
		}
		v.Events = append(v.Events, t.events(owner)...)
		log, err := t.store.Log().Deliveries(ctx, deliver.LogQuery{Owner: owner, PageSize: 1000})
		t.ok(err, "Log.Deliveries")
		v.Deliveries = append(v.Deliveries, log.Entries...)
		balance, err := t.store.Ledger().Balance(ctx, owner)
		t.ok(err, "Ledger.Balance")
		v.Balances = append(v.Balances, balance)
		entries, err := t.store.Ledger().Entries(ctx, billing.EntryQuery{Owner: owner, PageSize: 1000})
		t.ok(err, "Ledger.Entries")
		v.Entries = append(v.Entries, entries.Entries...)
	}
	var err error
	v.Totals, err = t.store.Ledger().Totals(ctx, billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "kept"},
		billing.Source{Owner: "acme", Kind: billing.KindRule, ID: "kept"}, billing.Source{Owner: "acme", Kind: billing.KindMonitor, ID: "m1"})
	t.ok(err, "Ledger.Totals")
	v.NextDue, _, err = t.store.Outbox().NextDue(ctx, nil)
	t.ok(err, "Outbox.NextDue")
	return v
}
