package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
)

// The roles of a faultyStore: each method goes through call or answer.

func (f *faultyStore) Ports() storage.Ports {
	p := f.Store.Ports()
	p.Records = faultyRecordStore{f, p.Records}
	p.State = faultyState{f, p.State}
	p.Journal = faultyJournal{f, p.Journal}
	p.Outbox = faultyOutbox{f, p.Outbox}
	p.Log = faultyLog{f, p.Log}
	p.Replays = faultyReplays{f, p.Replays}
	p.Ledger = faultyLedger{f, p.Ledger}
	if p.Members != nil {
		p.Members, p.Signals = faultyMembers{f, p.Members}, faultySignals{f, p.Signals}
	}
	if p.Sweeper != nil {
		p.Sweeper = faultySweeper{f, p.Sweeper}
	}
	return p
}

type faultyRecordStore struct {
	f    *faultyStore
	real record.Store
}

func (r faultyRecordStore) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	return answer(ctx, r.f, "Records.Get", func() (record.Record, error) { return r.real.Get(ctx, owner, k) })
}

func (r faultyRecordStore) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	return answer(ctx, r.f, "Records.Find", func() (record.Record, error) { return r.real.Find(ctx, k, lookup) })
}

func (r faultyRecordStore) List(ctx context.Context, q record.Query) (list []record.Record, total int, err error) {
	list, err = answer(ctx, r.f, "Records.List", func() (list []record.Record, err error) {
		list, total, err = r.real.List(ctx, q)
		return list, err
	})
	if err != nil {
		return nil, 0, err
	}
	return list, total, nil
}

func (r faultyRecordStore) Scan(ctx context.Context, k record.Kind, fn func(record.Record) error) error {
	return r.f.call(ctx, "Records.Scan", func() error { return r.real.Scan(ctx, k, fn) })
}

func (r faultyRecordStore) Apply(ctx context.Context, c record.Change) (uint64, error) {
	return answer(ctx, r.f, "Records.Apply", func() (uint64, error) { return r.real.Apply(ctx, c) })
}

func (r faultyRecordStore) Since(ctx context.Context, after uint64, limit int) (list []record.Entry, last uint64, err error) {
	err = r.f.call(ctx, "Records.Since", func() (err error) {
		list, last, err = r.real.Since(ctx, after, limit)
		return err
	})
	if err != nil && !errors.Is(err, record.ErrTooOld) {
		return nil, 0, err
	}
	return list, last, err
}

type faultyState struct {
	f    *faultyStore
	real record.State
}

func (s faultyState) Get(ctx context.Context, n record.Name) (record.Value, error) {
	return answer(ctx, s.f, "State.Get", func() (record.Value, error) { return s.real.Get(ctx, n) })
}

func (s faultyState) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (uint64, error) {
	return answer(ctx, s.f, "State.Swap", func() (uint64, error) { return s.real.Swap(ctx, n, version, value, ttl) })
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

func (l faultyLog) Waiting(ctx context.Context, endpointIDs ...string) (map[string]deliver.Waiting, error) {
	return answer(ctx, l.f, "Log.Waiting", func() (map[string]deliver.Waiting, error) { return l.real.Waiting(ctx, endpointIDs...) })
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
