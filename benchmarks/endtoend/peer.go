package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/benchmarks/post"
	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/webhook"
)

// queue is asynq: a task for each event, with the time it came and the body.
type queue struct {
	label  string
	m      *meter
	snk    *sink.Sink
	post   poster
	client *asynq.Client
	server *asynq.Server
	tasks  atomic.Int64
}

// poster makes the POST of a task to endpoint n.
type poster interface {
	send(ctx context.Context, n int, id string, body []byte) error
	close()
}

func openAsynq(label, addr string, p poster, snk *sink.Sink, m *meter) (contestant, error) {
	to := asynq.RedisClientOpt{Addr: addr}
	q := &queue{label: label, m: m, snk: snk, post: p, client: asynq.NewClient(to)}
	q.server = asynq.NewServer(to, asynq.Config{Concurrency: endpoints * inFlight, TaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel})
	return q, q.server.Start(asynq.HandlerFunc(q.send))
}

func (q *queue) name() string { return q.label }

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
	came := time.Unix(0, int64(binary.BigEndian.Uint64(t.Payload())))
	err := q.post.send(ctx, int(q.tasks.Add(1))%endpoints, t.ResultWriter().TaskID(), t.Payload()[8:])
	q.m.answered(came, err == nil)
	return err
}

func (q *queue) close() {
	q.server.Shutdown()
	q.client.Close()
	q.post.close()
}

// netHTTP posts with net/http, as a program does that has asynq and not ours.
type netHTTP struct {
	client *http.Client
	snk    *sink.Sink
}

func newNetHTTP(snk *sink.Sink) netHTTP { return netHTTP{post.Tuned(endpoints*inFlight, nil), snk} }

func (p netHTTP) send(ctx context.Context, n int, id string, body []byte) error {
	return post.Send(ctx, p.client, p.snk.URL(n, "/"), post.Headers(fmt.Sprint("whk_", n), id, secret, body), body)
}

func (p netHTTP) close() { p.client.CloseIdleConnections() }

// ourHTTP posts with the client of package deliver.
type ourHTTP struct {
	hook *webhook.Sender
	snk  *sink.Sink
}

func newOurHTTP(snk *sink.Sink) (ourHTTP, error) {
	hook, err := webhook.New(webhook.Config{AllowPrivate: true})
	return ourHTTP{hook, snk}, err
}

func (p ourHTTP) send(ctx context.Context, n int, id string, body []byte) error {
	r := p.hook.Send(ctx, &deliver.Delivery{ID: id, Event: &deliver.Event{Body: body},
		Endpoint: deliver.Endpoint{ID: fmt.Sprint("whk_", n), URL: p.snk.URL(n, "/"), Secret: secret}})
	if !r.OK {
		return errors.New(r.Error)
	}
	return nil
}

func (p ourHTTP) close() { p.hook.Close() }

// startRedis runs a server with its files in dir; addr is "" without one on the
// PATH.
func startRedis(dir string) (addr string, stop func(), err error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		fmt.Fprintln(os.Stderr, "endtoend: NO REDIS: there is no redis-server on the PATH")
		return "", func() {}, nil
	}
	files := filepath.Join(dir, "redis")
	if err := os.Mkdir(files, 0o700); err != nil {
		return "", nil, fmt.Errorf("endtoend: %w", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0") // a port that is free, at least now
	if err != nil {
		return "", nil, fmt.Errorf("endtoend: %w", err)
	}
	addr = l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(addr)
	cmd := exec.Command(path, "--bind", "127.0.0.1", "--port", port, "--dir", files, "--save", "", "--appendonly", "yes", "--appendfsync", "everysec")
	if err := cmd.Start(); err != nil {
		return "", nil, fmt.Errorf("endtoend: %s: %w", path, err)
	}
	stop = func() { _, _ = cmd.Process.Kill(), cmd.Wait() }
	client := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: 50, MinRetryBackoff: 20 * time.Millisecond})
	defer client.Close()
	if err := client.Ping(background).Err(); err != nil {
		stop()
		return "", nil, fmt.Errorf("endtoend: redis-server at %s: %w", addr, err)
	}
	return addr, stop, nil
}
