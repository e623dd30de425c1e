package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const (
	hooks  = 50
	every  = 5 * time.Millisecond // between two events that are detected
	takes  = 5 * time.Millisecond // a request
	window = 16                   // places by which requests in flight may overtake each other
)

// receiver answers every request after a while, and notes when.
type receiver struct {
	mu       sync.Mutex
	began    map[string]time.Time // commits, by event
	latency  []time.Duration      // of all endpoints since they were last taken
	replayed []uint64             // numbers, as they came
	sent     map[string]int
}

func (r *receiver) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	r.mu.Lock()
	began, live := r.began[d.Event.ID]
	if !live {
		r.replayed = append(r.replayed, d.Event.Seq)
	}
	r.mu.Unlock()
	select {
	case <-time.After(takes):
	case <-ctx.Done():
		return deliver.Result{Error: "timeout"}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sent[d.ID]++
	if live {
		r.latency = append(r.latency, time.Since(began))
	}
	return deliver.Result{OK: true, StatusCode: 200}
}

func source(i int) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: fmt.Sprint("monitor ", i), Owner: "acme", Name: "m"}
}

func event(src deliver.Source, post string) deliver.Event {
	now := time.Now()
	return deliver.Event{ID: deliver.EventID(src.ID, post), Source: src, TweetID: post, AuthorUsername: "nasa",
		PublishedAt: now, DetectedAt: now, Body: fmt.Appendf(nil, `{"event":"tweet.detected","tweet_id":%q,"text":"%0800d"}`, post, 1)}
}

// run replays so many events to an endpoint. In the log they are each the first of so many
// that belong to sources in turn.
func run(ctx context.Context, events, turns int, alone time.Duration) (rows []report.Row, err error) {
	dir, err := os.MkdirTemp("", "replay")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	store, err := sqlite.Open(ctx, filepath.Join(dir, "streams.db"), sqlite.Options{})
	if err != nil {
		return nil, err
	}
	defer store.Close(context.Background())
	r := &receiver{began: map[string]time.Time{}, sent: map[string]int{}}
	d, err := dispatch.New(dispatch.Config{Outbox: store.Outbox(), Endpoints: store.Endpoints(), Replays: store.Replays(),
		Senders: map[string]deliver.Sender{"https": r}})
	if err != nil {
		return nil, err
	}
	m, err := endpoints.New(endpoints.Config{Store: store.Endpoints(), Dispatcher: d, Log: store.Log()})
	if err != nil {
		return nil, err
	}
	for n := 0; n < events*turns; { // nobody receives them yet
		b := &detect.Batch{}
		for range min(500, events*turns-n) {
			b.Events = append(b.Events, event(source(n%turns), fmt.Sprint("missed ", n)))
			n++
		}
		if err := store.Journal().Commit(ctx, []*detect.Batch{b}); err != nil {
			return nil, err
		}
	}
	id := ""
	for i := range hooks {
		e, err := m.Create(ctx, endpoints.NewEndpoint{Source: source(i), URL: fmt.Sprintf("https://%d.example.com/", i)})
		if err != nil {
			return nil, err
		}
		if i == 0 {
			id = e.ID
		}
	}
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { d.Run(ctx) })
	wg.Go(func() { live(ctx, store, d, r) })
	defer wg.Wait()
	defer cancel()

	pause(ctx, 2*time.Second)
	r.take()
	before := phase(ctx, r, "before", func() error { pause(ctx, alone); return nil })
	if _, err := m.Replay(ctx, "acme", id, time.Time{}, time.Time{}); err != nil {
		return nil, err
	}
	during := phase(ctx, r, "during the replay", func() error {
		for ctx.Err() == nil {
			p, err := m.Replaying(ctx, "acme", id)
			if err != nil || p.State == deliver.ReplayDone {
				return err
			}
			pause(ctx, 100*time.Millisecond)
		}
		return ctx.Err()
	})
	pause(ctx, time.Second)
	after := phase(ctx, r, "after", func() error { pause(ctx, alone); return nil })
	for _, p := range []outcome{before, during, after} {
		if p.err != nil {
			return nil, p.err
		}
	}
	for _, p := range []outcome{before, during, after} {
		rows = append(rows, p.rows...)
	}
	rows = append(rows, report.Row{Bench: "replay", Case: "during the replay", Impl: report.Ours,
		Metric: "p99 to the mean of before and after", Value: 2 * during.p99 / (before.p99 + after.p99), Unit: "ratio"})
	return rows, r.check(events, turns)
}

// live commits events of all sources in turn and hands them over, as an engine
// does.
func live(ctx context.Context, store *sqlite.Store, d *dispatch.Dispatcher, r *receiver) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 0; ; n++ {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		b := &detect.Batch{Events: []deliver.Event{event(source(n%hooks), fmt.Sprint("live ", n))}, DeliverBy: time.Now().Add(45 * time.Second)}
		r.mu.Lock()
		r.began[b.Events[0].ID] = time.Now()
		r.mu.Unlock()
		if err := store.Journal().Commit(ctx, []*detect.Batch{b}); err == nil {
			d.Enqueue(b.Deliveries)
		}
	}
}

type outcome struct {
	p99  float64 // ms
	rows []report.Row
	err  error
}

func phase(ctx context.Context, r *receiver, name string, do func() error) outcome {
	_, had := r.take()
	began := time.Now()
	if err := do(); err != nil {
		return outcome{err: err}
	}
	took := time.Since(began).Seconds()
	latency, replayed := r.take()
	if ctx.Err() != nil || len(latency) == 0 {
		return outcome{err: fmt.Errorf("%s: %d events, %v", name, len(latency), ctx.Err())}
	}
	slices.Sort(latency)
	at := func(q float64) float64 { return latency[int(q*float64(len(latency)-1))].Seconds() * 1000 }
	o := outcome{p99: at(.99)}
	for _, f := range []struct {
		metric string
		value  float64
		unit   string
	}{{"p50", at(.5), "ms"}, {"p99", at(.99), "ms"}, {"time", took, "s"}, {"detected", float64(len(latency)), "events"}, {"replayed", float64(replayed-had) / took, "events/s"}} {
		o.rows = append(o.rows, report.Row{Bench: "replay", Case: name, Impl: report.Ours, Metric: f.metric, Value: f.value, Unit: f.unit})
	}
	return o
}

func (r *receiver) take() (latency []time.Duration, replayed int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	latency, r.latency = r.latency, nil
	return latency, len(r.replayed)
}

// check looks at what was sent.
func (r *receiver) check(events, turns int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, n := range r.sent {
		if n != 1 {
			return fmt.Errorf("delivery %s was sent %d times", id, n)
		}
	}
	if len(r.replayed) != events {
		return fmt.Errorf("%d events were replayed, want %d", len(r.replayed), events)
	}
	for i, seq := range r.replayed {
		if off := int(seq-1)/turns - i; off < -window || off > window {
			return fmt.Errorf("event %d came as number %d", seq, i+1)
		}
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}
