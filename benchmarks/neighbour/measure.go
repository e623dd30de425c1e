package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
	"github.com/streamwatch/streamwatch/storage/memory"
)

var body = []byte(`{"event":"tweet.detected","tweet_text":"` + strings.Repeat("x", 1024-42) + `"}`)

// world is a dispatcher with its endpoints.
type world struct {
	street
	store   *memory.Store
	hook    *webhook.Sender
	d       *dispatch.Dispatcher
	sources []deliver.Source
	posts   int

	counting atomic.Bool
	took     latency.Histogram // of those that are well
	open     atomic.Int64      // deliveries to them without an answer
	failed   atomic.Int64
}

// bad reports whether an endpoint is one whose figures do not count.
func (s *street) bad(i int) bool { return i < s.hang+s.reset+s.flooded }

func (s *street) path(i int) string {
	switch {
	case i < s.hang:
		return "/hang"
	case i < s.hang+s.reset:
		return "/reset"
	}
	return "/"
}

func measure(snk *sink.Sink, c street, endpoints int, d time.Duration) (s latency.Snapshot, err error) {
	w := &world{street: c, store: memory.New(memory.Options{MaxEvents: 10_000})}
	defer w.store.Close(context.Background())
	if w.hook, err = webhook.New(webhook.Config{AllowPrivate: true}); err != nil {
		return s, err
	}
	defer w.hook.Close()
	if w.d, err = dispatch.New(dispatch.Config{Outbox: w.store.Outbox(), Endpoints: w.store.Endpoints(),
		Senders: map[string]deliver.Sender{"http": w}}); err != nil {
		return s, err
	}
	for i := range endpoints {
		src := deliver.Source{Kind: deliver.SourceMonitor, ID: fmt.Sprint(i), Owner: "o", Name: "m"}
		w.sources = append(w.sources, src)
		if err := w.store.Endpoints().Create(context.Background(), deliver.Endpoint{ID: fmt.Sprint("whk_", i), Source: src,
			URL: snk.URL(i, c.path(i)), Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive}); err != nil {
			return s, err
		}
	}
	ctx, cut := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- w.d.Run(ctx) }()
	defer func() {
		cut()
		<-done
	}()
	if err := w.feed(time.Second, time.Second/time.Duration(endpoints)); err != nil {
		return s, err
	}
	w.counting.Store(true)
	if err := w.feed(d, time.Second/time.Duration(endpoints)); err != nil {
		return s, err
	}
	if n := w.failed.Load(); n > 0 {
		return s, fmt.Errorf("%d deliveries to endpoints that are well failed", n)
	}
	return w.took.Snapshot(), nil
}

// feed commits an event for each of the endpoints in turn, one every so often,
// and waits for the answers of those that are well.
func (w *world) feed(d, every time.Duration) error {
	began := time.Now()
	for n := 0; n == 0 || time.Duration(n)*every < d; {
		time.Sleep(time.Until(began.Add(time.Duration(n) * every)))
		var batches []*detect.Batch
		for came := began.Add(time.Duration(n) * every); len(batches) < 64 && !came.After(time.Now()); came = came.Add(every) {
			batches = append(batches, w.batch(n%len(w.sources), came))
			n++
		}
		if err := w.store.Journal().Commit(context.Background(), batches); err != nil {
			return err
		}
		for _, b := range batches {
			w.d.Enqueue(b.Deliveries)
		}
	}
	for limit := time.Now().Add(30 * time.Second); w.open.Load() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			return fmt.Errorf("%d deliveries to endpoints that are well have no answer after 30 s", w.open.Load())
		}
	}
	return nil
}

func (w *world) batch(i int, came time.Time) *detect.Batch {
	events := 1
	switch {
	case !w.bad(i):
		w.open.Add(1)
	case i >= w.hang+w.reset:
		events = floodFactor
	}
	b := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second)}
	for range events {
		w.posts++
		tweet := fmt.Sprint(w.posts)
		b.Events = append(b.Events, deliver.Event{ID: deliver.EventID(w.sources[i].ID, tweet), Source: w.sources[i], TweetID: tweet,
			PublishedAt: came, DetectedAt: came, Body: body})
	}
	return b
}

// Send is the webhook's, timed.
func (w *world) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	r := w.hook.Send(ctx, d)
	var i int
	fmt.Sscanf(d.EndpointID, "whk_%d", &i)
	if w.bad(i) {
		return r
	}
	switch {
	case !r.OK:
		w.failed.Add(1)
	case w.counting.Load():
		w.took.Record(time.Since(d.Event.PublishedAt))
	}
	w.open.Add(-1)
	return r
}
