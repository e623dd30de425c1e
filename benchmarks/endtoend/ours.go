package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

var background = context.Background()

// ours is a dispatcher on a durable store.
type ours struct {
	label   string
	m       *meter
	store   storage.Store
	hook    *webhook.Sender
	d       *dispatch.Dispatcher
	cut     context.CancelFunc
	done    chan error
	sources []deliver.Source
	posts   int
}

func openOurs(label string, store storage.Store, snk *sink.Sink, m *meter) (contestant, error) {
	o := &ours{label: label, m: m, store: store, done: make(chan error, 1)}
	var err error
	if o.hook, err = webhook.New(webhook.Config{AllowPrivate: true}); err != nil {
		return nil, err
	}
	if o.d, err = dispatch.New(dispatch.Config{Outbox: store.Ports().Outbox, Endpoints: roles.Endpoints(store.Ports().Records),
		LaneInFlight: inFlight, Senders: map[string]deliver.Sender{"http": o}}); err != nil {
		return nil, err
	}
	for i := range endpoints {
		src := deliver.Source{Kind: deliver.SourceMonitor, ID: fmt.Sprint("m", i), Owner: "o", Name: "m"}
		o.sources = append(o.sources, src)
		if err := roles.Endpoints(store.Ports().Records).Create(background, deliver.Endpoint{ID: fmt.Sprint("whk_", i), Source: src, URL: snk.URL(i, "/"),
			Secret: secret, Status: deliver.EndpointActive}); err != nil {
			return nil, err
		}
	}
	ctx, cut := context.WithCancel(background)
	o.cut = cut
	go func() { o.done <- o.d.Run(ctx) }()
	return o, nil
}

func (o *ours) name() string { return o.label }

// feeders are one, as the engine's committer, which takes all that are waiting.
func (o *ours) feeders() (goroutines, group int) { return 1, 1024 }

// put is what the engine's committer does with the outcome of polls.
func (o *ours) put(came []time.Time) error {
	batches := make([]*detect.Batch, len(came))
	for i, at := range came {
		o.posts++
		tweet, src := fmt.Sprint(o.posts), o.sources[o.posts%endpoints]
		batches[i] = &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second), Events: []deliver.Event{{
			ID: deliver.EventID(src.ID, tweet), Source: src, TweetID: tweet, PublishedAt: at, DetectedAt: at, Body: body}}}
	}
	if err := o.store.Ports().Journal.Commit(background, batches); err != nil {
		return err
	}
	for _, b := range batches {
		o.d.Enqueue(b.Deliveries)
	}
	return nil
}

// Send is the webhook's, counted.
func (o *ours) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	r := o.hook.Send(ctx, d)
	o.m.answered(d.Event.PublishedAt, r.OK)
	return r
}

func (o *ours) close() {
	o.d.Stop()
	<-o.done
	o.cut()
	o.hook.Close()
	o.store.Close(background)
}

// openers make a contestant on a new store each. Those of a server are left out
// where there is none.
func openers(snk *sink.Sink, dir, redisAddr string, pg *pgtest.Instance) []func(*meter) (contestant, error) {
	list := []func(*meter) (contestant, error){func(m *meter) (contestant, error) {
		s, err := sqlite.Open(background, filepath.Join(dir, fmt.Sprint(time.Now().UnixNano(), ".db")), sqlite.Options{})
		if err != nil {
			return nil, err
		}
		return openOurs(report.Ours, s, snk, m)
	}}
	if redisAddr != "" {
		list = append(list,
			func(m *meter) (contestant, error) {
				s, err := redisstore.Open(background, &redis.UniversalOptions{Addrs: []string{redisAddr}}, redisstore.Options{Name: fmt.Sprint("bench-", time.Now().UnixNano())})
				if err != nil {
					return nil, err
				}
				return openOurs(report.Ours+", Redis", s, snk, m)
			},
			func(m *meter) (contestant, error) { return openAsynq(redisAddr, snk, m) })
	}
	if pg != nil {
		list = append(list,
			func(m *meter) (contestant, error) {
				url, err := pg.NewDatabase()
				if err != nil {
					return nil, err
				}
				s, err := postgres.Open(background, url, postgres.Options{})
				if err != nil {
					return nil, err
				}
				return openOurs(report.Ours+", PostgreSQL", s, snk, m)
			})
		for _, tuned := range []bool{true, false} {
			list = append(list, func(m *meter) (contestant, error) {
				url, err := pg.NewDatabase()
				if err != nil {
					return nil, err
				}
				return openRiver(url, tuned, snk, m)
			})
		}
	}
	return list
}
