package recorder_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/detect/recorder"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// outage is an hour on a platform that shows posts late and out of order, limits calls, is
// down for a while, and buries an account's timeline; and on an engine that is restarted,
// and whose store fails.
type outage struct {
	platform *enginetest.Platform
	store    failingStore
	rec      *recorder.Recorder
	opts     recorder.Options
	down     atomic.Bool
	gaps     atomic.Int64
}

func newOutage(t *testing.T, opts recorder.Options) *outage {
	o := &outage{opts: opts, store: failingStore{Store: memory.New(memory.Options{}), fails: new(atomic.Bool), with: errors.New("the disk is full")}, platform: enginetest.NewPlatform(enginetest.PlatformConfig{
		Seed: 7, Accounts: enginetest.AccountNames(6), PageSize: 5, LateShare: 0.5, LateUpTo: 4 * time.Minute, Latency: 80 * time.Millisecond,
		RateLimit: 70, RateWindow: 5 * time.Minute,
		Faults: enginetest.Faults{ServerError: 0.02, Truncated: 0.02, RateLimited: 0.03, NullFields: 0.02, WrongAuthor: 0.02},
	})}
	rec, err := recorder.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	o.rec = rec
	return o
}

// Timeline implements fetcher.Fetcher.
func (o *outage) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if o.down.Load() {
		return fetcher.Page{}, fmt.Errorf("reading %s: %w", q.Username, &fetcher.StatusError{Code: 503})
	}
	return o.platform.Timeline(ctx, q)
}

// engine runs an engine for a while.
func (o *outage) engine(t *testing.T, first bool, live func(e *streamwatch.Engine)) {
	e, err := streamwatch.New(o.rec.Wrap(streamwatch.Config{
		Fetcher: o, Store: o.store, OnGap: func(detect.Gap) { o.gaps.Add(1) },
		Detect: detect.Config{MaxPages: 2, MinOverlap: 30 * time.Second, Overlap: time.Minute, MaxOverlap: 10 * time.Minute, FetchRate: 2, Shards: 2},
	}))
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if first {
		for i, r := range []monitor.CreateRequest{
			{Name: "all", Usernames: enginetest.AccountNames(6), PollInterval: 30 * time.Second},
			{Name: "replies", Usernames: enginetest.AccountNames(2), PollInterval: 45 * time.Second, FilterTypes: []monitor.FilterType{monitor.Reply}},
		} {
			if _, err := e.Monitors().Create(t.Context(), r); err != nil {
				t.Fatal(i, err)
			}
		}
	}
	live(e)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := e.Shutdown(ctx); err != nil {
		t.Error(err)
	}
}

// run lets the hour pass. It has to be called in a bubble.
func (o *outage) run(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	posting := make(chan struct{})
	go func() {
		defer close(posting)
		_ = o.platform.Run(ctx, enginetest.PostRate{PerSecond: 0.05}) // ends with ctx
	}()
	names := enginetest.AccountNames(6)
	o.engine(t, true, func(e *streamwatch.Engine) {
		pass(10 * time.Minute)
		o.down.Store(true)
		pass(12 * time.Minute)
		o.down.Store(false)
		o.platform.Rename(names[5], "renamed")
		pass(3 * time.Minute)
		o.platform.SetProtected(names[4], true)
		for i := range 40 { // more than the page cap reads
			o.platform.Post(names[1], fmt.Sprint("burst ", i))
		}
		pass(5 * time.Minute)
		o.platform.SetProtected(names[4], false)
		o.store.fails.Store(true)
		pass(2 * time.Minute)
		o.store.fails.Store(false)
		if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "late", Usernames: names[:3], PollInterval: time.Minute}); err != nil {
			t.Error(err)
		}
		pass(5 * time.Minute)
	})
	pass(4 * time.Minute)
	o.engine(t, false, func(*streamwatch.Engine) { pass(15 * time.Minute) })
	stop()
	<-posting
	if err := o.store.Close(context.Background()); err != nil {
		t.Error(err)
	}
}

// failingStore is a store whose journal refuses commits for a while.
type failingStore struct {
	storage.Store
	fails *atomic.Bool
	with  error
}

func (s failingStore) Journal() detect.Journal { return failingJournal{s.Store.Journal(), s} }

type failingJournal struct {
	detect.Journal
	s failingStore
}

func (j failingJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	if j.s.fails.Load() {
		return j.s.with
	}
	return j.Journal.Commit(ctx, batches)
}

// pass lets time go by, in a bubble.
func pass(d time.Duration) { <-time.After(d) }
