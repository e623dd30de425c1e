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

// cutGrace is how long Shutdown waits for the stages after it has cancelled their contexts.
const cutGrace = 15 * time.Second

type state uint8

const (
	fresh state = iota
	running
	ended
)

// lifecycle holds an engine's state and its running stages.
type lifecycle struct {
	state  atomic.Int32  // a state
	turn   chan struct{} // held by Start and Shutdown
	stages []*stage      // in order of stopping
}

func newLifecycle() lifecycle { return lifecycle{turn: make(chan struct{}, 1)} }

// lock waits until no other Start or Shutdown is under way. If there is none, it succeeds even if
// ctx has ended.
func (l *lifecycle) lock(ctx context.Context) (unlock func(), err error) {
	unlock = func() { <-l.turn }
	select {
	case l.turn <- struct{}{}:
		return unlock, nil
	default:
	}
	select {
	case l.turn <- struct{}{}:
		return unlock, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("streamwatch: wait for another Start or Shutdown: %w", context.Cause(ctx))
	}
}

// stage is a long-lived component of a running engine.
type stage struct {
	name string
	stop func() // stops softly
	cut  func()
	done chan struct{}
}

// Errors of the lifecycle.
var (
	ErrStarted    = errors.New("streamwatch: engine was started already")
	ErrNotRunning = errors.New("streamwatch: engine is not running")
)

func (l *lifecycle) current() state { return state(l.state.Load()) }

// Start reads the monitors and rules from the store, and starts detection and delivery. It returns
// when everything runs; ctx limits only the reading. An engine can be started once. If secrets of
// endpoints cannot be decrypted, Start logs that, and Ready returns an error. Everything else runs.
func (e *Engine) Start(ctx context.Context) error {
	unlock, err := e.life.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if e.life.current() != fresh {
		return ErrStarted
	}
	if e.fleet == nil {
		if err := checkAlone(ctx, e.store); err != nil {
			return err
		}
		if err := e.setEpoch(ctx); err != nil {
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
	run := func(name string, stop func(), stage func(context.Context) error) {
		e.life.begin(e.cfg.Logger, name, stop, stage)
	}
	if e.meter != nil { // stops first, because it pauses and resumes monitors and rules
		run("meter", nil, e.meter.Run)
	}
	run("detector", e.platforms.Stop, func(ctx context.Context) error {
		if e.fleet != nil {
			defer close(e.fleet.drained)
		}
		return e.platforms.Run(ctx)
	})
	if e.fleet != nil { // stops after the detectors: it leaves when nothing is polled any more
		stop := make(chan struct{})
		run("fleet", sync.OnceFunc(func() { close(stop) }), func(ctx context.Context) error { return e.fleet.run(ctx, stop) })
	}
	run("dispatcher", e.dispatcher.Stop, e.dispatcher.Run)
	run("monitors", nil, e.monitors.Run)
	run("rules", nil, e.rules.Run)
	run("endpoints", nil, reconciler{e}.run)
	return nil
}

// begin starts a stage. Shutdown joins it. If stop is nil, Shutdown cancels the stage's context
// instead of calling stop.
func (l *lifecycle) begin(logger *slog.Logger, name string, stop func(), run func(context.Context) error) {
	ctx, cut := context.WithCancel(context.Background())
	if stop == nil {
		stop = cut
	}
	p := &stage{name: name, stop: stop, cut: cut, done: make(chan struct{})}
	l.stages = append(l.stages, p)
	go func() {
		defer close(p.done)
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			logger.Error("component failed", "component", name, "error", err)
		}
	}()
}

// Shutdown stops softly: it starts no new polls, commits the posts already fetched and sends the
// deliveries that are due. Each stage has a share of the time until ctx ends. A stage that takes
// longer is cut short: its polls are abandoned, and unsent deliveries stay in the store for the
// next process. The error then wraps ctx's error or context.DeadlineExceeded.
//
// Shutdown joins all goroutines before it returns. For a Fetcher, Sender, handler or Store that
// ignores its context it waits at most 15 s, and returns an error that says so. If a Start is under
// way, Shutdown waits for it first. If ctx ends before that, it stops nothing and returns ctx's
// error.
func (e *Engine) Shutdown(ctx context.Context) error {
	unlock, err := e.life.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	if e.life.current() != running {
		return ErrNotRunning
	}
	e.life.state.Store(int32(ended))
	for i, p := range e.life.stages {
		share, cancel := shareOf(ctx, len(e.life.stages)-i)
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
	for _, p := range e.life.stages {
		select {
		case <-p.done:
		case <-grace.C:
			return errors.Join(err, fmt.Errorf("streamwatch: %s did not stop within %s: a Fetcher, Sender, handler or Store ignores its context", p.name, cutGrace))
		}
	}
	e.webhook.Close()
	if e.ownsStore {
		err = errors.Join(err, e.store.Close(context.WithoutCancel(ctx)))
	}
	return err
}

// shareOf returns a context for the next of the remaining stages. It ends after an equal share of
// the time until ctx's deadline. So a poll that hangs leaves time for the deliveries.
func shareOf(ctx context.Context, stages int) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/time.Duration(stages))
}

// Run starts the engine, waits until ctx ends, and then calls Shutdown with
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
