package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

// cutGrace is how long Shutdown waits after it has cut everything short.
const cutGrace = 15 * time.Second

type state uint8

const (
	fresh state = iota
	running
	ended
)

// lifecycle is how far an engine is.
type lifecycle struct {
	state atomic.Int32 // a state
	mu    sync.Mutex   // orders Start and Shutdown
	parts []*part      // in order of stopping
}

// part is a long-lived part of a running engine.
type part struct {
	name string
	stop func() // softly
	cut  func()
	done chan struct{}
}

// Errors of the lifecycle.
var (
	ErrStarted    = errors.New("streamwatch: engine was started already")
	ErrNotRunning = errors.New("streamwatch: engine is not running")
)

func (l *lifecycle) is() state { return state(l.state.Load()) }

// Start reads the monitors and rules from the store and starts detection and
// delivery. It returns once everything runs; ctx bounds only the reading. An engine
// can be started once. Endpoints whose secrets cannot be opened are logged and make
// Ready return an error; everything else runs.
func (e *Engine) Start(ctx context.Context) error {
	e.life.mu.Lock()
	defer e.life.mu.Unlock()
	if e.life.is() != fresh {
		return ErrStarted
	}
	if e.fleet == nil {
		if err := checkAlone(ctx, e.store); err != nil {
			return err
		}
	}
	if err := (tracking{e}).all(ctx); err != nil {
		return err
	}
	if err := checkSeals(ctx, e); err != nil {
		return err
	}
	if e.fleet != nil {
		if err := e.fleet.node.Join(ctx); err != nil {
			return err
		}
	}
	e.life.state.Store(int32(running))
	run := func(name string, stop func(), part func(context.Context) error) {
		e.life.begin(e.cfg.Logger, name, stop, part)
	}
	if e.meter != nil { // the first to stop: it pauses and resumes what the others run
		run("meter", nil, e.meter.Run)
	}
	run("detector", e.platforms.Stop, func(ctx context.Context) error {
		if e.fleet != nil {
			defer close(e.fleet.drained)
		}
		return e.platforms.Run(ctx)
	})
	if e.fleet != nil { // it leaves when nothing is polled any more
		stop := make(chan struct{})
		run("fleet", sync.OnceFunc(func() { close(stop) }), func(ctx context.Context) error { return e.fleet.run(ctx, stop) })
	}
	run("dispatcher", e.dispatcher.Stop, e.dispatcher.Run)
	run("monitors", nil, e.monitors.Run)
	run("rules", nil, e.rules.Run)
	run("endpoints", nil, reconciler{e}.run)
	return nil
}

// begin starts a part; Shutdown joins it. A part without a soft stop is cut.
func (l *lifecycle) begin(logger *slog.Logger, name string, stop func(), run func(context.Context) error) {
	ctx, cut := context.WithCancel(context.Background())
	if stop == nil {
		stop = cut
	}
	p := &part{name: name, stop: stop, cut: cut, done: make(chan struct{})}
	l.parts = append(l.parts, p)
	go func() {
		defer close(p.done)
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			logger.Error("part failed", "part", name, "error", err)
		}
	}()
}

// Shutdown stops softly: no new poll starts, what was fetched is committed,
// what is due is sent. A part that does not end in its share of the time until
// ctx ends is cut short: polls under way are given up, unsent deliveries given
// back, and the error wraps ctx's or context.DeadlineExceeded. What a durable
// store has is then sent by the next process. All goroutines are joined before
// it returns, unless a Fetcher, Sender or handler ignores its context: then it waits
// for that up to 15 s more, and the error says so.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.life.mu.Lock()
	defer e.life.mu.Unlock()
	if e.life.is() != running {
		return ErrNotRunning
	}
	e.life.state.Store(int32(ended))
	var err error
	for i, p := range e.life.parts {
		share, cancel := shareOf(ctx, len(e.life.parts)-i)
		p.stop()
		select {
		case <-p.done:
		case <-share.Done():
			err = errors.Join(err, fmt.Errorf("streamwatch: %s cut short: %w", p.name, context.Cause(share)))
		}
		cancel()
		p.cut()
	}
	if e.hub != nil {
		err = errors.Join(err, e.hub.Shutdown(ctx))
	}
	grace := time.NewTimer(cutGrace)
	defer grace.Stop()
	for _, p := range e.life.parts {
		select {
		case <-p.done:
		case <-grace.C:
			return errors.Join(err, fmt.Errorf("streamwatch: %s does not end: a Fetcher or Sender ignores its context", p.name))
		}
	}
	e.webhook.Close()
	if e.ownsStore {
		err = errors.Join(err, e.store.Close(context.WithoutCancel(ctx)))
	}
	return err
}

// shareOf gives one of the remaining parts its share of the time, so that a hanging
// poll leaves time for the deliveries.
func shareOf(ctx context.Context, parts int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(parts))
}

// Run starts the engine, waits for ctx to end, and shuts down within
// Config.ShutdownTimeout.
func (e *Engine) Run(ctx context.Context) error {
	if err := e.Start(ctx); err != nil {
		return err
	}
	<-ctx.Done()
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), e.cfg.ShutdownTimeout)
	defer cancel()
	return e.Shutdown(stop)
}
