package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"

	"github.com/streamwatch/streamwatch/benchmarks/post"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
)

// queue is asynq: a task for each event, with the time it came and the body, which
// is posted with net/http.
type queue struct {
	m      *meter
	snk    *sink.Sink
	http   *http.Client
	client *asynq.Client
	server *asynq.Server
	tasks  atomic.Int64
}

func openAsynq(addr string, snk *sink.Sink, m *meter) (contestant, error) {
	to := asynq.RedisClientOpt{Addr: addr}
	q := &queue{m: m, snk: snk, http: post.Tuned(endpoints*inFlight, nil), client: asynq.NewClient(to)}
	q.server = asynq.NewServer(to, asynq.Config{Concurrency: endpoints * inFlight, TaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel})
	return q, q.server.Start(asynq.HandlerFunc(q.send))
}

func (q *queue) name() string { return "asynq, net/http" }

func (q *queue) feeders() (goroutines, group int) { return 16, 1 }

func (q *queue) put(came []time.Time) error {
	for _, at := range came {
		if _, err := q.client.Enqueue(asynq.NewTask("webhook", append(binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())), body...))); err != nil {
			return err
		}
	}
	return nil
}

func (q *queue) send(ctx context.Context, t *asynq.Task) error {
	came, body := time.Unix(0, int64(binary.BigEndian.Uint64(t.Payload()))), t.Payload()[8:]
	n, id := int(q.tasks.Add(1))%endpoints, t.ResultWriter().TaskID()
	err := post.Send(ctx, q.http, q.snk.URL(n, "/"), post.Headers(fmt.Sprint("whk_", n), id, secret, body), body)
	q.m.answered(came, err == nil)
	return err
}

func (q *queue) close() {
	q.server.Shutdown()
	q.client.Close()
	q.http.CloseIdleConnections()
}
