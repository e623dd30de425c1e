package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

const (
	endpoints = 16
	inFlight  = 4   // requests to an endpoint
	backlog   = 256 // events committed and not answered yet
	group     = 64  // events of a commit
)

var (
	background = context.Background()
	body       = []byte(`{"event":"tweet.detected","tweet_text":"` + strings.Repeat("x", 1024-42) + `"}`)
	secret     = deliver.GenerateSecret()
)

// figure is what a contestant did in a round.
type figure struct {
	rate float64 // events a second, from page to settlement
	cpu  float64 // µs an event
}

// board is a platform whose pages have 20 posts, the first of them new.
type board struct {
	posts  int
	newest string
}

func (b *board) seen(id string) bool { return id != b.newest }

func (b *board) Timeline(context.Context, fetcher.TimelineQuery) (fetcher.Page, error) {
	b.posts++
	tweets := make([]fetcher.Tweet, 20)
	for i := range tweets {
		tweets[i].ID = fmt.Sprint(1_000_000 + b.posts - i)
	}
	b.newest = tweets[0].ID
	return fetcher.Page{Tweets: tweets}, nil
}

// openContestant makes one on a new store.
func openContestant(snk *sink.Sink, dir, store string, contestant int) (p *pipeline, err error) {
	platform := &board{}
	cfg := streamwatch.Config{Fetcher: platform, Webhook: webhook.Config{AllowPrivate: true}}
	if store == "memory" {
		cfg.Store = memory.New(memory.Options{})
	} else if cfg.Store, err = sqlite.Open(background, filepath.Join(dir, fmt.Sprint(time.Now().UnixNano(), ".db")), sqlite.Options{}); err != nil {
		return nil, err
	}
	var tp *sdktrace.TracerProvider
	if c := contestants[contestant]; c.traced {
		exporter, err := otlptracehttp.New(background, otlptracehttp.WithEndpointURL(snk.URL(endpoints, "/v1/traces")))
		if err != nil {
			return nil, err
		}
		tp = sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithIDGenerator(engineotel.IDs()))
		o := engineotel.Options{TracerProvider: tp, Ratio: c.ratio}
		if c.times {
			o.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
		}
		if cfg, err = engineotel.Instrument(cfg, o); err != nil {
			return nil, err
		}
	}
	if p, err = open(cfg, platform, snk); err == nil {
		p.tp = tp
	}
	return p, err
}

// sum is what a contestant did in its turns of a round.
type sum struct {
	events    int
	took, cpu time.Duration
}

func (s *sum) figure() figure {
	n := float64(s.events)
	return figure{rate: n / s.took.Seconds(), cpu: s.cpu.Seconds() * 1e6 / n}
}

// measure works for about d, or sends the traces that are left.
func (p *pipeline) measure(to *sum, d time.Duration, last bool) (err error) {
	before, began, events := usage(), time.Now(), p.events
	switch {
	case !last:
		err = p.work(d)
		to.took += time.Since(began)
	case p.tp != nil: // an engine does not wait for this
		err = p.tp.ForceFlush(background)
	}
	to.events, to.cpu = to.events+p.events-events, to.cpu+usage()-before
	return err
}

// usage is the CPU time of the process.
func usage() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// pipeline is what an engine has between a page and a receiver.
type pipeline struct {
	cfg     streamwatch.Config
	board   *board
	tp      *sdktrace.TracerProvider // nil without traces
	hook    *webhook.Sender
	d       *dispatch.Dispatcher
	done    chan error
	cut     context.CancelFunc
	sources []deliver.Source
	events  int
	room    chan struct{} // a place for each event of the backlog
	failed  chan string
}

func open(cfg streamwatch.Config, b *board, snk *sink.Sink) (p *pipeline, err error) {
	p = &pipeline{cfg: cfg, board: b, done: make(chan error, 1), room: make(chan struct{}, backlog), failed: make(chan string, 1)}
	if p.hook, err = webhook.New(cfg.Webhook); err != nil {
		return nil, err
	}
	if p.d, err = dispatch.New(dispatch.Config{Outbox: cfg.Store.Outbox(), Endpoints: cfg.Store.Endpoints(),
		LaneInFlight: inFlight, Senders: map[string]deliver.Sender{"http": p}}); err != nil {
		return nil, err
	}
	for i := range endpoints {
		src := deliver.Source{Kind: deliver.SourceMonitor, ID: fmt.Sprint("m", i), Owner: "o", Name: "m"}
		p.sources = append(p.sources, src)
		if err := cfg.Store.Endpoints().Create(background, deliver.Endpoint{ID: fmt.Sprint("whk_", i), Source: src, URL: snk.URL(i, "/"),
			Secret: secret, Status: deliver.EndpointActive}); err != nil {
			return nil, err
		}
	}
	ctx, cut := context.WithCancel(background)
	p.cut = cut
	go func() { p.done <- p.d.Run(ctx) }()
	return p, nil
}

// Send is the webhook's, which then has room for another event.
func (p *pipeline) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	r := p.hook.Send(ctx, d)
	if !r.OK {
		select {
		case p.failed <- r.Error:
		default:
		}
	}
	<-p.room
	return r
}

// work reads, commits and sends for about d, until all is answered.
func (p *pipeline) work(d time.Duration) error {
	for began := time.Now(); time.Since(began) < d; {
		var batches []*detect.Batch
		for range group {
			p.room <- struct{}{}
			asked := time.Now()
			page, err := p.cfg.Fetcher.Timeline(background, fetcher.TimelineQuery{Username: "nasa", Seen: p.board.seen})
			if err != nil {
				return err
			}
			p.events++
			id, src, now := page.Tweets[0].ID, p.sources[p.events%endpoints], time.Now()
			batches = append(batches, &detect.Batch{DeliverBy: now.Add(45 * time.Second), Events: []deliver.Event{{
				ID: deliver.EventID(src.ID, id), Source: src, TweetID: id, PublishedAt: asked, RequestedAt: asked, FetchedAt: now, DetectedAt: now, Body: body}}})
		}
		if err := p.cfg.Store.Journal().Commit(background, batches); err != nil {
			return err
		}
		for _, b := range batches {
			p.d.Enqueue(b.Deliveries)
		}
	}
	for range cap(p.room) { // all are answered when nobody has a place
		p.room <- struct{}{}
	}
	for range cap(p.room) {
		<-p.room
	}
	select {
	case text := <-p.failed:
		return fmt.Errorf("a request failed: %s", text)
	default:
		return nil
	}
}

func (p *pipeline) close() {
	p.d.Stop()
	<-p.done
	p.cut()
	p.hook.Close()
	if p.tp != nil {
		p.tp.Shutdown(background)
	}
	p.cfg.Store.Close(background)
}
