package node

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"

	"github.com/streamwatch/streamwatch/fleet"
)

// task is a request from the term's loop to the worker.
type task struct {
	kind       taskKind
	own, parts fleet.Set
}

type taskKind int

const (
	take taskKind = iota
	give
)

func (k taskKind) String() string { return [...]string{"take", "give"}[k] }

type outcome struct {
	task
	err error
}

// worker makes the calls to the Host that may take long, one at a time. Each term runs it once.
type worker struct {
	n     *Node
	tasks chan task
	done  chan outcome
}

func newWorker(n *Node) *worker {
	return &worker{n: n, tasks: make(chan task, 1), done: make(chan outcome, 1)}
}

// reset prepares the worker for a new term.
func (w *worker) reset() {
	for len(w.tasks) > 0 {
		<-w.tasks
	}
	for len(w.done) > 0 {
		<-w.done
	}
}

func (w *worker) run(ctx context.Context) {
	for {
		select {
		case t := <-w.tasks:
			w.done <- outcome{t, w.do(ctx, t)}
		case <-ctx.Done():
			return
		}
	}
}

func (w *worker) do(ctx context.Context, t task) error {
	if t.kind == take {
		return w.n.cfg.Host.Take(ctx, t.own, t.parts)
	}
	return w.n.cfg.Host.Give(ctx, t.own, t.parts)
}

// pause returns a backoff for calls that are tried again.
func (n *Node) pause() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(50*time.Millisecond),
		backoff.WithMaxInterval(n.times.lease/8), backoff.WithMaxElapsedTime(0))
}
