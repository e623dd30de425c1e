package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/monitor"
)

// cutGrace is how long Shutdown waits after it has cut everything short.
const cutGrace = 15 * time.Second

type state uint8

const (
	fresh state = iota
	running
	ended
)

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

func (e *Engine) is() state { return state(e.state.Load()) }

// Start reads the monitors and rules from the store and starts detection and
// delivery. It returns once everything runs; ctx bounds only the reading. An engine
// can be started once. Endpoints whose secrets cannot be opened are logged and make
// Ready return an error; everything else runs.
func (e *Engine) Start(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.is() != fresh {
		return ErrStarted
	}
	err := e.monitors.Each(ctx, func(m monitor.Monitor) error {
		if m.Status != monitor.Active {
			return nil
		}
		if strings.HasPrefix(m.StatusReason, monitor.ReasonUpstream) {
			e.monitors.Report(m.Owner, m.ID, "", nil) // of the process before; what lasts is reported again
		}
		sub := detect.ForMonitor(m)
		sub.Spread = true
		return e.platforms.Set(ctx, sub)
	})
	if err != nil {
		return fmt.Errorf("streamwatch: watch monitors: %w", err)
	}
	if err := e.startRules(ctx); err != nil {
		return fmt.Errorf("streamwatch: run rules: %w", err)
	}
	if err := e.checkSeals(ctx); err != nil {
		return err
	}
	e.state.Store(int32(running))
	if e.meter != nil { // the first to stop: it pauses and resumes what the others run
		e.run("meter", nil, e.meter.Run)
	}
	e.run("detector", e.platforms.Stop, e.platforms.Run)
	e.run("dispatcher", e.dispatcher.Stop, e.dispatcher.Run)
	e.run("monitors", nil, e.monitors.Run)
	e.run("rules", nil, e.rules.Run)
	e.run("endpoints", nil, reconciler{e}.run)
	return nil
}

// run starts a part; Shutdown joins it. A part without a soft stop is cut.
func (e *Engine) run(name string, stop func(), run func(context.Context) error) {
	ctx, cut := context.WithCancel(context.Background())
	if stop == nil {
		stop = cut
	}
	p := &part{name: name, stop: stop, cut: cut, done: make(chan struct{})}
	e.parts = append(e.parts, p)
	go func() {
		defer close(p.done)
		if err := run(ctx); err != nil && !errors.Is(err, context.Canceled) {
			e.cfg.Logger.Error("part failed", "part", name, "error", err)
		}
	}()
}

// Shutdown stops softly: no new poll starts, what was fetched is committed,
// what is due is sent. A part that does not end in its share of the time until
// ctx ends is cut short: polls under way are given up, unsent deliveries given
// back, and the error wraps ctx's or context.DeadlineExceeded. What a durable
// store has is then sent by the next process. All goroutines are joined before
// it returns, unless a Fetcher or Sender ignores its context: then the error
// says so.
func (e *Engine) Shutdown(ctx context.Context) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.is() != running {
		return ErrNotRunning
	}
	e.state.Store(int32(ended))
	var err error
	for i, p := range e.parts {
		share, cancel := shareOf(ctx, len(e.parts)-i)
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
	for _, p := range e.parts {
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
