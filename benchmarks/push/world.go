package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// streamCase is how a stream behaves.
type streamCase struct {
	name     string
	stream   enginetest.StreamConfig
	faults   enginetest.StreamFaults // from the time on that counts
	restarts bool                    // the engine is cut short and started anew every hour
}

func cases() []streamCase {
	const beat, lag = 15 * time.Second, 200 * time.Millisecond
	breaks := enginetest.StreamFaults{Duplicate: 0.05, Refuse: 0.05, Clamp: 0.05,
		DisconnectAfter: 75 * time.Second, HalfOpenAfter: time.Hour, StallAfter: time.Hour}
	return []streamCase{
		{name: "no faults", stream: enginetest.StreamConfig{HeartbeatEvery: beat, Lag: lag}},
		{name: "breaks and restarts", stream: enginetest.StreamConfig{HeartbeatEvery: beat, Lag: lag}, faults: breaks, restarts: true},
		{name: "breaks, no replay", stream: enginetest.StreamConfig{HeartbeatEvery: beat, Lag: lag, NoPositions: true}, faults: breaks},
		{name: "drops 1 %", stream: enginetest.StreamConfig{HeartbeatEvery: beat, Lag: lag}, faults: enginetest.StreamFaults{Drop: 0.01}},
		{name: "a lag of 7 s", stream: enginetest.StreamConfig{HeartbeatEvery: beat, Lag: 7 * time.Second}},
	}
}

// world is a case with a size.
type world struct {
	streamCase
	accounts int
	lasts    time.Duration
}

// Intervals of the polls: without the stream's trust, with it, and at most under a
// budget.
const (
	interval    = 5 * time.Minute
	auditEvery  = 30 * time.Minute
	maxInterval = 24 * time.Hour
)

// outcome is what came of a run.
type outcome struct {
	posts, lost, doubled int
	disconnects          int
	calls                int
	perAccountHour       float64       // calls
	p50, p99             time.Duration // over the platform's own delay
}

// inVirtualTime plays the case in a bubble; budget is how many calls polls alone may
// make, 0 for a run with the stream.
func (w world) inVirtualTime(t *testing.T, budget int) (o outcome, err error) {
	synctest.Test(t, func(t *testing.T) { o, err = w.play(t.Context(), budget) })
	return o, err
}

// play makes a run.
func (w world) play(ctx context.Context, budget int) (o outcome, err error) {
	names := enginetest.AccountNames(w.accounts)
	p := enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 1, Accounts: names, Latency: 50 * time.Millisecond})
	stream := p.Streamer(w.stream)
	store, got := memory.New(memory.Options{}), &handled{at: map[string][]time.Time{}}
	reads := &counted{Fetcher: p}
	cfg := streamwatch.Config{Fetcher: reads, Store: store, OnEvent: got.handle, Detect: detect.Config{AuditEvery: auditEvery}}
	every := interval
	if budget > 0 {
		every = maxInterval
		cfg.Detect.Pace, cfg.Detect.FetchRate = detect.PaceBudget, float64(budget)/w.lasts.Seconds()
	} else {
		cfg.Roles.Stream = stream
	}
	e, err := begin(ctx, cfg)
	if err != nil {
		return o, err
	}
	if err := watch(ctx, e, names, every); err != nil {
		return o, errors.Join(err, cut(ctx, e))
	}
	start := time.Now()
	warm, rng := start.Add(2*time.Hour), rand.New(rand.NewPCG(2, 3))
	<-time.After(2 * interval)
	author := authors(w.accounts, rng)
	calls, began := 0, time.Time{}
	restart := warm.Add(time.Hour)
	for time.Since(start) < w.lasts+2*time.Hour {
		<-time.After(time.Duration(rng.ExpFloat64() * float64(time.Hour) / float64(w.accounts))) // a post an hour each, in the mean
		p.Post(names[author()], "a post")
		now := time.Now()
		if began.IsZero() && now.After(warm) {
			began, calls = now, int(reads.n.Load())
			stream.SetFaults(w.faults)
			if w.faults.DisconnectAfter > 0 {
				stream.Disconnect() // the connection from before has no faults
			}
		}
		if w.restarts && now.After(restart) {
			restart = restart.Add(time.Hour)
			if err := cut(ctx, e); err != nil {
				return o, err
			}
			if e, err = begin(ctx, cfg); err != nil {
				return o, err
			}
		}
	}
	o.calls = int(reads.n.Load()) - calls
	o.perAccountHour = float64(o.calls) / float64(w.accounts) / time.Since(began).Hours()
	o.disconnects = stream.Stats().Disconnects
	truth := p.Posted()
	stream.SetFaults(enginetest.StreamFaults{})
	<-time.After(maxInterval + time.Hour) // whatever is to be found is found
	if err := e.Shutdown(ctx); err != nil {
		return o, err
	}
	delay := w.stream.Lag
	if budget > 0 {
		delay = 0
	}
	got.judge(&o, truth, began, delay)
	return o, store.Close(ctx)
}

func begin(ctx context.Context, cfg streamwatch.Config) (*streamwatch.Engine, error) {
	e, err := streamwatch.New(cfg)
	if err != nil {
		return nil, err
	}
	return e, e.Start(ctx)
}

// watch makes the monitors of the accounts.
func watch(ctx context.Context, e *streamwatch.Engine, names []string, every time.Duration) error {
	for group := range slices.Chunk(names, 100) {
		if _, err := e.Monitors().Create(ctx, monitor.CreateRequest{Name: group[0], Usernames: group, PollInterval: every}); err != nil {
			return err
		}
	}
	return nil
}

// cut ends an engine without waiting for anything.
func cut(ctx context.Context, e *streamwatch.Engine) error {
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	if err := e.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// authors picks an account: few post much, and most little.
func authors(n int, rng *rand.Rand) func() int {
	sums, sum := make([]float64, n), 0.0
	for i := range sums {
		sum += math.Exp(1.2 * rng.NormFloat64())
		sums[i] = sum
	}
	return func() int { return min(sort.SearchFloat64s(sums, rng.Float64()*sum), n-1) }
}

// counted counts the calls.
type counted struct {
	fetcher.Fetcher
	n atomic.Int64
}

func (c *counted) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	c.n.Add(1)
	return c.Fetcher.Timeline(ctx, q)
}

// handled is when posts were handled, by their ids.
type handled struct {
	mu sync.Mutex
	at map[string][]time.Time
}

func (h *handled) handle(_ context.Context, e deliver.Event) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.at[e.TweetID] = append(h.at[e.TweetID], time.Now())
	return nil
}
