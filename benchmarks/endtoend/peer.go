package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/hibiken/asynq"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/benchmarks/sink"
	"github.com/streamwatch/streamwatch/deliver"
)

// queue is asynq: a task for each event, with the time it came and the body.
type queue struct {
	m      *meter
	snk    *sink.Sink
	hook   *deliver.Webhook
	client *asynq.Client
	server *asynq.Server
	tasks  atomic.Int64
}

func openAsynq(addr string, snk *sink.Sink, m *meter) (contestant, error) {
	hook, err := deliver.NewWebhook(deliver.WebhookConfig{AllowPrivate: true})
	if err != nil {
		return nil, err
	}
	to := asynq.RedisClientOpt{Addr: addr}
	q := &queue{m: m, snk: snk, hook: hook, client: asynq.NewClient(to)}
	q.server = asynq.NewServer(to, asynq.Config{Concurrency: endpoints * inFlight, TaskCheckInterval: 10 * time.Millisecond, LogLevel: asynq.FatalLevel})
	return q, q.server.Start(asynq.HandlerFunc(q.send))
}

func (q *queue) name() string { return "asynq" }

func (q *queue) feeders() (goroutines, group int) { return 16, 1 }

func (q *queue) put(came []time.Time) error {
	for _, at := range came {
		if _, err := q.client.Enqueue(asynq.NewTask("webhook", append(binary.BigEndian.AppendUint64(nil, uint64(at.UnixNano())), body...))); err != nil {
			return err
		}
	}
	return nil
}

// send makes the same POST.
func (q *queue) send(ctx context.Context, t *asynq.Task) error {
	came := time.Unix(0, int64(binary.BigEndian.Uint64(t.Payload())))
	n := int(q.tasks.Add(1)) % endpoints
	r := q.hook.Send(ctx, &deliver.Delivery{ID: t.ResultWriter().TaskID(), Event: &deliver.Event{Body: t.Payload()[8:]},
		Endpoint: deliver.Endpoint{ID: fmt.Sprint("whk_", n), URL: q.snk.URL(n, "/"), Secret: secret}})
	q.m.answered(came, r.OK)
	if !r.OK {
		return errors.New(r.Error)
	}
	return nil
}

func (q *queue) close() {
	q.server.Shutdown()
	q.client.Close()
	q.hook.Close()
}

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
