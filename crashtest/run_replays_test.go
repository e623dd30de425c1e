package main

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage"
)

func init() {
	for fault, wrap := range map[string]func(storage.Store) deliver.Replays{
		"forgets replays that another process began": func(s storage.Store) deliver.Replays {
			return &forgetfulReplays{Replays: s.Replays(), began: make(map[string]bool)}
		},
		"begins replays at their last event": func(s storage.Store) deliver.Replays { return hastyReplays{s.Replays()} },
		"replays what was delivered": func(s storage.Store) deliver.Replays {
			return doublingReplays{s.Replays(), s}
		},
	} {
		bugs[fault] = func(s storage.Store) storage.Store { return faultyReplays{s, wrap(s)} }
	}
}

// faultyReplays is a store whose replays go another way.
type faultyReplays struct {
	storage.Store
	replays deliver.Replays
}

func (s faultyReplays) Replays() deliver.Replays { return s.replays }

// forgetfulReplays gives a process no replays but those that it has begun itself.
type forgetfulReplays struct {
	deliver.Replays
	mu    sync.Mutex
	began map[string]bool
}

func (f *forgetfulReplays) Start(ctx context.Context, r deliver.Replay) error {
	f.mu.Lock()
	f.began[r.ID] = true
	f.mu.Unlock()
	return f.Replays.Start(ctx, r)
}

func (f *forgetfulReplays) Running(ctx context.Context, now time.Time, limit int) (own []deliver.Replay, err error) {
	all, err := f.Replays.Running(ctx, now, limit)
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range all {
		if f.began[r.ID] {
			own = append(own, r)
		}
	}
	return own, err
}

// hastyReplays begin with the last event that they were asked for.
type hastyReplays struct{ deliver.Replays }

func (h hastyReplays) Start(ctx context.Context, r deliver.Replay) error {
	r.After = max(r.After, r.Last-1)
	r.Cursor = r.After
	return h.Replays.Start(ctx, r)
}

// doublingReplays send what was delivered, too.
type doublingReplays struct {
	deliver.Replays
	store storage.Store
}

func (d doublingReplays) Step(ctx context.Context, q deliver.ReplayStep) (deliver.Replay, []deliver.Delivery, error) {
	page, err := d.store.Log().Deliveries(ctx, deliver.LogQuery{Owner: q.Owner, State: deliver.StateDelivered, Via: deliver.ViaWebhook, Asc: true, PageSize: 100})
	if err != nil {
		return deliver.Replay{}, nil, err
	}
	var ids []string
	for _, e := range page.Entries {
		ids = append(ids, e.ID)
	}
	if _, err := d.store.Outbox().Reopen(ctx, deliver.ReopenRequest{Owner: q.Owner, IDs: ids, Due: q.Now}); err != nil {
		return deliver.Replay{}, nil, err
	}
	return d.Replays.Step(ctx, q)
}
