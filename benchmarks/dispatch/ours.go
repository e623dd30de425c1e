package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// backlog bounds the deliveries handed over and not answered yet, in times what
// is in flight; a lane holds 8192.
const backlog = 8

// dispatcher is streamwatch's way.
type dispatcher struct {
	store   *memory.Store
	hook    *webhook.Sender
	d       *dispatch.Dispatcher
	done    chan error
	cut     context.CancelFunc
	sources []deliver.Source
	room    chan struct{} // a place for each delivery of the backlog
	at      int           // the next source
	posts   int64

	accepted, refused atomic.Int64
}

func newDispatcher(snk *sink.Sink, hosts, inFlight int) (*dispatcher, error) {
	p := &dispatcher{store: memory.New(memory.Options{MaxEvents: 10_000}), room: make(chan struct{}, min(8192, backlog*inFlight)), done: make(chan error, 1)}
	var err error
	if p.hook, err = webhook.New(webhook.Config{AllowPrivate: true}); err != nil {
		return nil, err
	}
	// A lane may use three quarters of the workers; many lanes share them all.
	workers, lane := inFlight, (inFlight+hosts-1)/hosts
	if hosts == 1 {
		workers = 2 * inFlight
	}
	if p.d, err = dispatch.New(dispatch.Config{
		Outbox: p.store.Ports().Outbox, Endpoints: roles.Endpoints(p.store.Ports().Records), Workers: workers, LaneInFlight: min(1024, lane), LaneQueue: 8192,
		Senders: map[string]deliver.Sender{"http": p, "https": p},
	}); err != nil {
		return nil, err
	}
	for i := range hosts {
		src := deliver.Source{Kind: deliver.SourceMonitor, ID: fmt.Sprint("m", i), Owner: "o", Name: "m"}
		p.sources = append(p.sources, src)
		err := roles.Endpoints(p.store.Ports().Records).Create(context.Background(), deliver.Endpoint{ID: fmt.Sprint("whk_", i), Source: src, URL: snk.URL(i, "/"),
			Secret: secret, Status: deliver.EndpointActive, Limits: deliver.Limits{InFlight: min(1024, lane)}})
		if err != nil {
			return nil, err
		}
	}
	ctx, cut := context.WithCancel(context.Background())
	p.cut = cut
	go func() { p.done <- p.d.Run(ctx) }()
	return p, nil
}

func (p *dispatcher) name() string { return report.Ours }

// Send is the webhook's, and makes room.
func (p *dispatcher) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	r := p.hook.Send(ctx, d)
	if r.OK {
		p.accepted.Add(1)
	} else {
		p.refused.Add(1)
	}
	<-p.room
	return r
}

func (p *dispatcher) run(d time.Duration) (sent, failed int64, err error) {
	accepted, refused := p.accepted.Load(), p.refused.Load()
	for began := time.Now(); time.Since(began) < d; {
		if err := p.commit(min(64, cap(p.room)/2)); err != nil {
			return 0, 0, err
		}
	}
	// Until every outcome is recorded.
	for p.d.Stats().Held > 0 {
		time.Sleep(50 * time.Microsecond)
	}
	return p.accepted.Load() - accepted, p.refused.Load() - refused, nil
}

// commit records n events, one for each of the next sources, and hands them over.
func (p *dispatcher) commit(n int) error {
	now := time.Now()
	batches := make([]*detect.Batch, n)
	for i := range batches {
		p.room <- struct{}{}
		p.posts++
		tweet := fmt.Sprint(p.posts)
		src := p.sources[p.at]
		p.at = (p.at + 1) % len(p.sources)
		batches[i] = &detect.Batch{DeliverBy: now.Add(time.Minute), Events: []deliver.Event{{
			ID: deliver.EventID(src.ID, tweet), Source: src, TweetID: tweet, PublishedAt: now, DetectedAt: now, Body: body}}}
	}
	if err := p.store.Ports().Journal.Commit(context.Background(), batches); err != nil {
		return err
	}
	for _, b := range batches {
		p.d.Enqueue(b.Deliveries)
	}
	return nil
}

func (p *dispatcher) close() {
	p.d.Stop()
	<-p.done
	p.cut()
	p.hook.Close()
	p.store.Close(context.Background())
}

// parallel has n goroutines call send for about d.
func parallel(n int, d time.Duration, send func(worker int) error) (sent, failed int64) {
	var wg sync.WaitGroup
	var good, bad atomic.Int64
	end := time.Now().Add(d)
	for i := range n {
		wg.Go(func() {
			for first := true; first || time.Now().Before(end); first = false {
				if err := send(i); err != nil {
					bad.Add(1)
				} else {
					good.Add(1)
				}
			}
		})
	}
	wg.Wait()
	return good.Load(), bad.Load()
}
