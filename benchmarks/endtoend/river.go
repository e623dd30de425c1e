package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/streamwatch/streamwatch/benchmarks/post"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
)

// jobs is River: a job for each event, with the time it came and the body, which is
// posted with net/http.
type jobs struct {
	river.WorkerDefaults[job]
	label  string
	m      *meter
	snk    *sink.Sink
	http   *http.Client
	pool   *pgxpool.Pool
	client *river.Client[pgx.Tx]
	begun  atomic.Int64
}

type job struct {
	Came int64  `json:"came"` // Unix nanoseconds
	Body string `json:"body"` // as a JSON value it would be posted as PostgreSQL writes it
}

func (job) Kind() string { return "webhook" }

// openRiver begins with an empty database. The producer is woken by NOTIFY. With tuned,
// its pauses are the shortest that River allows.
func openRiver(url string, tuned bool, snk *sink.Sink, m *meter) (_ contestant, err error) {
	q := &jobs{m: m, snk: snk, http: post.Tuned(endpoints*inFlight, nil), label: "River, its defaults"}
	settings := &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: endpoints * inFlight}},
		Logger: slog.New(slog.DiscardHandler),
	}
	if tuned {
		q.label = "River, 1 ms"
		settings.FetchCooldown, settings.FetchPollInterval = river.FetchCooldownMin, river.FetchPollIntervalMin
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, err
	}
	config.MaxConns = 16 // as storage/postgres has
	if q.pool, err = pgxpool.NewWithConfig(background, config); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			q.pool.Close()
		}
	}()
	migrator, err := rivermigrate.New(riverpgxv5.New(q.pool), &rivermigrate.Config{Logger: settings.Logger})
	if err != nil {
		return nil, err
	}
	if _, err := migrator.Migrate(background, rivermigrate.DirectionUp, nil); err != nil {
		return nil, err
	}
	settings.Workers = river.NewWorkers()
	river.AddWorker(settings.Workers, q)
	q.client, err = river.NewClient(riverpgxv5.New(q.pool), settings)
	if err != nil {
		return nil, err
	}
	return q, q.client.Start(background)
}

func (q *jobs) name() string { return q.label }

func (q *jobs) feeders() (goroutines, group int) { return 1, 1024 }

// put is a COPY.
func (q *jobs) put(came []time.Time) error {
	params := make([]river.InsertManyParams, len(came))
	for i, at := range came {
		params[i].Args = job{Came: at.UnixNano(), Body: string(body)}
	}
	_, err := q.client.InsertManyFast(background, params)
	return err
}

// Work implements river.Worker.
func (q *jobs) Work(ctx context.Context, j *river.Job[job]) error {
	n, id := int(q.begun.Add(1))%endpoints, fmt.Sprint(j.ID)
	body := []byte(j.Args.Body)
	err := post.Send(ctx, q.http, q.snk.URL(n, "/"), post.Headers(fmt.Sprint("whk_", n), id, secret, body), body)
	q.m.answered(time.Unix(0, j.Args.Came), err == nil)
	return err
}

func (q *jobs) close() {
	_ = q.client.Stop(background) // it ends when the jobs have
	q.pool.Close()
	q.http.CloseIdleConnections()
}
