package storetest

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
)

// broken is a store with some methods replaced; a nil one is not.
type broken struct {
	storage.Store

	createMonitor func(context.Context, monitor.Monitor) error
	getMonitor    func(ctx context.Context, owner, id string) (monitor.Monitor, error)
	updateMonitor func(context.Context, monitor.Monitor) error
	listMonitors  func(context.Context, monitor.Query) (monitor.Page, error)

	deleteEndpoint func(ctx context.Context, owner, id string) error
	updateEndpoint func(context.Context, deliver.Endpoint) error

	commit  func(context.Context, []*detect.Batch) error
	cursors func(context.Context, ...string) ([]detect.Cursor, error)

	claim   func(context.Context, deliver.ClaimRequest) ([]deliver.Delivery, error)
	settle  func(context.Context, ...deliver.Settlement) error
	nextDue func(context.Context) (time.Time, bool, error)

	deliveries func(context.Context, deliver.LogQuery) (deliver.LogPage, error)
	delivery   func(ctx context.Context, owner, id string) (deliver.LogEntry, error)
	events     func(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error)

	reserve       func(context.Context, billing.Reservation) error
	release       func(ctx context.Context, id string) error
	appendEntries func(context.Context, ...billing.Entry) error
	balance       func(ctx context.Context, owner string) (billing.Balance, error)
	entries       func(context.Context, billing.EntryQuery) (billing.EntryPage, error)
	totals        func(context.Context, ...billing.Source) ([]billing.Credits, error)
}

func (b *broken) Monitors() monitor.Store          { return brokenMonitors{b.Store.Monitors(), b} }
func (b *broken) Endpoints() deliver.EndpointStore { return brokenEndpoints{b.Store.Endpoints(), b} }
func (b *broken) Journal() detect.Journal          { return brokenJournal{b.Store.Journal(), b} }
func (b *broken) Outbox() deliver.Outbox           { return brokenOutbox{b.Store.Outbox(), b} }
func (b *broken) Log() deliver.Log                 { return brokenLog{b.Store.Log(), b} }
func (b *broken) Ledger() billing.Ledger           { return brokenLedger{b.Store.Ledger(), b} }

type brokenMonitors struct {
	monitor.Store
	b *broken
}

func (m brokenMonitors) Create(ctx context.Context, rec monitor.Monitor) error {
	if f := m.b.createMonitor; f != nil {
		return f(ctx, rec)
	}
	return m.Store.Create(ctx, rec)
}

func (m brokenMonitors) Get(ctx context.Context, owner, id string) (monitor.Monitor, error) {
	if f := m.b.getMonitor; f != nil {
		return f(ctx, owner, id)
	}
	return m.Store.Get(ctx, owner, id)
}

func (m brokenMonitors) Update(ctx context.Context, rec monitor.Monitor) error {
	if f := m.b.updateMonitor; f != nil {
		return f(ctx, rec)
	}
	return m.Store.Update(ctx, rec)
}

func (m brokenMonitors) List(ctx context.Context, q monitor.Query) (monitor.Page, error) {
	if f := m.b.listMonitors; f != nil {
		return f(ctx, q)
	}
	return m.Store.List(ctx, q)
}

type brokenEndpoints struct {
	deliver.EndpointStore
	b *broken
}

func (e brokenEndpoints) Delete(ctx context.Context, owner, id string) error {
	if f := e.b.deleteEndpoint; f != nil {
		return f(ctx, owner, id)
	}
	return e.EndpointStore.Delete(ctx, owner, id)
}

func (e brokenEndpoints) Update(ctx context.Context, rec deliver.Endpoint) error {
	if f := e.b.updateEndpoint; f != nil {
		return f(ctx, rec)
	}
	return e.EndpointStore.Update(ctx, rec)
}

type brokenJournal struct {
	detect.Journal
	b *broken
}

func (j brokenJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	if f := j.b.commit; f != nil {
		return f(ctx, batches)
	}
	return j.Journal.Commit(ctx, batches)
}

func (j brokenJournal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	if f := j.b.cursors; f != nil {
		return f(ctx, targets...)
	}
	return j.Journal.Cursors(ctx, targets...)
}

type brokenOutbox struct {
	deliver.Outbox
	b *broken
}

func (o brokenOutbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	if f := o.b.claim; f != nil {
		return f(ctx, r)
	}
	return o.Outbox.Claim(ctx, r)
}

func (o brokenOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	if f := o.b.settle; f != nil {
		return f(ctx, ss...)
	}
	return o.Outbox.Settle(ctx, ss...)
}

func (o brokenOutbox) NextDue(ctx context.Context, parts *fleet.Set) (time.Time, bool, error) {
	if f := o.b.nextDue; f != nil {
		return f(ctx)
	}
	return o.Outbox.NextDue(ctx, parts)
}

type brokenLog struct {
	deliver.Log
	b *broken
}

func (l brokenLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	if f := l.b.deliveries; f != nil {
		return f(ctx, q)
	}
	return l.Log.Deliveries(ctx, q)
}

func (l brokenLog) Delivery(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
	if f := l.b.delivery; f != nil {
		return f(ctx, owner, id)
	}
	return l.Log.Delivery(ctx, owner, id)
}

func (l brokenLog) Events(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error) {
	if f := l.b.events; f != nil {
		return f(ctx, owner, after, limit)
	}
	return l.Log.Events(ctx, owner, after, limit)
}

type brokenLedger struct {
	billing.Ledger
	b *broken
}

func (l brokenLedger) Reserve(ctx context.Context, r billing.Reservation) error {
	if f := l.b.reserve; f != nil {
		return f(ctx, r)
	}
	return l.Ledger.Reserve(ctx, r)
}

func (l brokenLedger) Release(ctx context.Context, id string) error {
	if f := l.b.release; f != nil {
		return f(ctx, id)
	}
	return l.Ledger.Release(ctx, id)
}

func (l brokenLedger) Append(ctx context.Context, entries ...billing.Entry) error {
	if f := l.b.appendEntries; f != nil {
		return f(ctx, entries...)
	}
	return l.Ledger.Append(ctx, entries...)
}

func (l brokenLedger) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	if f := l.b.balance; f != nil {
		return f(ctx, owner)
	}
	return l.Ledger.Balance(ctx, owner)
}

func (l brokenLedger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	if f := l.b.entries; f != nil {
		return f(ctx, q)
	}
	return l.Ledger.Entries(ctx, q)
}

func (l brokenLedger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	if f := l.b.totals; f != nil {
		return f(ctx, sources...)
	}
	return l.Ledger.Totals(ctx, sources...)
}
