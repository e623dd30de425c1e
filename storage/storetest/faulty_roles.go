package storetest

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// The roles of a faultyStore: each method goes through call or answer.

func (f *faultyStore) Monitors() monitor.Store {
	return faultyMonitors{faultyRecords[monitor.Monitor]{f, "Monitors", f.Store.Monitors()}, f.Store.Monitors()}
}

func (f *faultyStore) Rules() rule.Store {
	return faultyRules{faultyRecords[rule.Rule]{f, "Rules", f.Store.Rules()}, f.Store.Rules()}
}
func (f *faultyStore) Endpoints() deliver.EndpointStore {
	return faultyEndpoints{f, f.Store.Endpoints()}
}
func (f *faultyStore) Journal() detect.Journal  { return faultyJournal{f, f.Store.Journal()} }
func (f *faultyStore) Outbox() deliver.Outbox   { return faultyOutbox{f, f.Store.Outbox()} }
func (f *faultyStore) Log() deliver.Log         { return faultyLog{f, f.Store.Log()} }
func (f *faultyStore) Replays() deliver.Replays { return faultyReplays{f, f.Store.Replays()} }
func (f *faultyStore) Ledger() billing.Ledger   { return faultyLedger{f, f.Store.Ledger()} }

type faultyRecords[T any] struct {
	f    *faultyStore
	role string
	recs versioned[T]
}

func (r faultyRecords[T]) Create(ctx context.Context, rec T) error {
	return r.f.call(ctx, r.role+".Create", func() error { return r.recs.Create(ctx, rec) })
}

func (r faultyRecords[T]) Get(ctx context.Context, owner, id string) (T, error) {
	return answer(ctx, r.f, r.role+".Get", func() (T, error) { return r.recs.Get(ctx, owner, id) })
}

func (r faultyRecords[T]) Update(ctx context.Context, rec T) error {
	return r.f.call(ctx, r.role+".Update", func() error { return r.recs.Update(ctx, rec) })
}

func (r faultyRecords[T]) Delete(ctx context.Context, owner, id string) error {
	return r.f.call(ctx, r.role+".Delete", func() error { return r.recs.Delete(ctx, owner, id) })
}

func (r faultyRecords[T]) Scan(ctx context.Context, fn func(T) error) error {
	return r.f.call(ctx, r.role+".Scan", func() error { return r.recs.Scan(ctx, fn) })
}

type faultyMonitors struct {
	faultyRecords[monitor.Monitor]
	real monitor.Store
}

func (m faultyMonitors) List(ctx context.Context, q monitor.Query) (monitor.Page, error) {
	return answer(ctx, m.f, "Monitors.List", func() (monitor.Page, error) { return m.real.List(ctx, q) })
}

type faultyRules struct {
	faultyRecords[rule.Rule]
	real rule.Store
}

func (r faultyRules) List(ctx context.Context, q rule.Query) (rule.Page, error) {
	return answer(ctx, r.f, "Rules.List", func() (rule.Page, error) { return r.real.List(ctx, q) })
}

type faultyEndpoints struct {
	f    *faultyStore
	real deliver.EndpointStore
}

func (e faultyEndpoints) Create(ctx context.Context, ep deliver.Endpoint) error {
	return e.f.call(ctx, "Endpoints.Create", func() error { return e.real.Create(ctx, ep) })
}

func (e faultyEndpoints) Get(ctx context.Context, owner, id string) (deliver.Endpoint, error) {
	return answer(ctx, e.f, "Endpoints.Get", func() (deliver.Endpoint, error) { return e.real.Get(ctx, owner, id) })
}

func (e faultyEndpoints) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	return answer(ctx, e.f, "Endpoints.List", func() ([]deliver.Endpoint, error) { return e.real.List(ctx, owner, sourceID) })
}

func (e faultyEndpoints) Update(ctx context.Context, ep deliver.Endpoint) error {
	return e.f.call(ctx, "Endpoints.Update", func() error { return e.real.Update(ctx, ep) })
}

func (e faultyEndpoints) Scan(ctx context.Context, fn func(deliver.Endpoint) error) error {
	return e.f.call(ctx, "Endpoints.Scan", func() error { return e.real.Scan(ctx, fn) })
}

func (e faultyEndpoints) Delete(ctx context.Context, owner, id string) error {
	return e.f.call(ctx, "Endpoints.Delete", func() error { return e.real.Delete(ctx, owner, id) })
}

type faultyJournal struct {
	f    *faultyStore
	real detect.Journal
}

func (j faultyJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	return j.f.call(ctx, "Journal.Commit", func() error { return j.real.Commit(ctx, batches) })
}

func (j faultyJournal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	return answer(ctx, j.f, "Journal.Cursors", func() ([]detect.Cursor, error) { return j.real.Cursors(ctx, targets...) })
}

type faultyOutbox struct {
	f    *faultyStore
	real deliver.Outbox
}

func (o faultyOutbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	return answer(ctx, o.f, "Outbox.Claim", func() ([]deliver.Delivery, error) { return o.real.Claim(ctx, r) })
}

func (o faultyOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	return o.f.call(ctx, "Outbox.Settle", func() error { return o.real.Settle(ctx, ss...) })
}

func (o faultyOutbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	return answer(ctx, o.f, "Outbox.Reopen", func() (int, error) { return o.real.Reopen(ctx, r) })
}

func (o faultyOutbox) NextDue(ctx context.Context, parts *fleet.Set) (due time.Time, open bool, err error) {
	due, err = answer(ctx, o.f, "Outbox.NextDue", func() (at time.Time, err error) {
		at, open, err = o.real.NextDue(ctx, parts)
		return at, err
	})
	return due, open && err == nil, err
}

type faultyLog struct {
	f    *faultyStore
	real deliver.Log
}

func (l faultyLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	return answer(ctx, l.f, "Log.Deliveries", func() (deliver.LogPage, error) { return l.real.Deliveries(ctx, q) })
}

func (l faultyLog) Delivery(ctx context.Context, owner, id string) (deliver.LogEntry, error) {
	return answer(ctx, l.f, "Log.Delivery", func() (deliver.LogEntry, error) { return l.real.Delivery(ctx, owner, id) })
}

func (l faultyLog) Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]deliver.Event, error) {
	return answer(ctx, l.f, "Log.Events", func() ([]deliver.Event, error) { return l.real.Events(ctx, owner, afterSeq, limit) })
}

func (l faultyLog) Epoch(ctx context.Context) (uint64, error) {
	return answer(ctx, l.f, "Log.Epoch", func() (uint64, error) { return l.real.Epoch(ctx) })
}

type faultyReplays struct {
	f    *faultyStore
	real deliver.Replays
}

func (r faultyReplays) Start(ctx context.Context, rp deliver.Replay) error {
	return r.f.call(ctx, "Replays.Start", func() error { return r.real.Start(ctx, rp) })
}

func (r faultyReplays) Get(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
	return answer(ctx, r.f, "Replays.Get", func() (deliver.Replay, error) { return r.real.Get(ctx, owner, endpointID) })
}

func (r faultyReplays) Running(ctx context.Context, now time.Time, limit int) ([]deliver.Replay, error) {
	return answer(ctx, r.f, "Replays.Running", func() ([]deliver.Replay, error) { return r.real.Running(ctx, now, limit) })
}

func (r faultyReplays) Step(ctx context.Context, q deliver.ReplayStep) (rp deliver.Replay, ds []deliver.Delivery, err error) {
	ds, err = answer(ctx, r.f, "Replays.Step", func() (made []deliver.Delivery, err error) {
		rp, made, err = r.real.Step(ctx, q)
		return made, err
	})
	if err != nil {
		return deliver.Replay{}, nil, err
	}
	return rp, ds, nil
}

type faultyLedger struct {
	f    *faultyStore
	real billing.Ledger
}

func (l faultyLedger) Reserve(ctx context.Context, r billing.Reservation) error {
	return l.f.call(ctx, "Ledger.Reserve", func() error { return l.real.Reserve(ctx, r) })
}

func (l faultyLedger) Commit(ctx context.Context, id string, e billing.Entry) error {
	return l.f.call(ctx, "Ledger.Commit", func() error { return l.real.Commit(ctx, id, e) })
}

func (l faultyLedger) Release(ctx context.Context, id string) error {
	return l.f.call(ctx, "Ledger.Release", func() error { return l.real.Release(ctx, id) })
}

func (l faultyLedger) Append(ctx context.Context, entries ...billing.Entry) error {
	return l.f.call(ctx, "Ledger.Append", func() error { return l.real.Append(ctx, entries...) })
}

func (l faultyLedger) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	return answer(ctx, l.f, "Ledger.Balance", func() (billing.Balance, error) { return l.real.Balance(ctx, owner) })
}

func (l faultyLedger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	return answer(ctx, l.f, "Ledger.Entries", func() (billing.EntryPage, error) { return l.real.Entries(ctx, q) })
}

func (l faultyLedger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	return answer(ctx, l.f, "Ledger.Totals", func() ([]billing.Credits, error) { return l.real.Totals(ctx, sources...) })
}
