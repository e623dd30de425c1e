package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/control"
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
	var clear *fleet.Set
	if e.fleet != nil { // a node polls nothing until it has parts
		clear = new(fleet.Set)
		if err := errors.Join(e.platforms.SetParts(ctx, fleet.Set{}), e.dispatcher.SetParts(ctx, fleet.Set{})); err != nil {
			return err
		}
	}
	if err := e.follower.Reread(ctx, func(ctx context.Context) error { return e.reread(ctx, control.Start{Spread: true}, clear) }); err != nil {
		return err
	}
	if err := e.checkSeals(ctx); err != nil {
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
	run("records", nil, e.follower.Run)
	run("endpoints", nil, e.watchEndpoints)
	run("reports", nil, e.runReports) // stops last: it saves what the others have done
	e.cfg.Logger.Info("engine started", "sources", e.cfg.sourceNames(), "fleet", e.fleet != nil)
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
	began := time.Now()
	e.cfg.Logger.Info("engine stops")
	defer func() { e.cfg.Logger.Info("engine stopped", "after", time.Since(began).Round(time.Millisecond)) }()
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

// ErrNotStarted is returned by Ready before Start has returned.
var ErrNotStarted = errors.New("streamwatch: engine is not started")

// ErrNoContact is returned by Ready if the node has not reached the store for a long time. Other
// nodes may have taken over its work.
var ErrNoContact = errors.New("streamwatch: the node has no contact with its fleet")

// Ready returns nil while the engine works, from the return of Start until Shutdown begins.
// Otherwise it returns ErrNotStarted, ErrNotRunning, ErrNoContact, or an error that wraps
// deliver.ErrSealed. The last one names endpoints with secrets that Config.Sealer cannot decrypt:
// their deliveries wait for the key. Ready is meant for a readiness probe. It does not call the
// Store, and does not block.
func (e *Engine) Ready() error {
	switch e.life.current() {
	case fresh:
		return ErrNotStarted
	case ended:
		return ErrNotRunning
	}
	if e.fleet != nil && !e.fleet.node.State().Trusted {
		return ErrNoContact
	}
	if err := e.sealed.Load(); err != nil {
		return *err
	}
	return nil
}

// sealsEvery is how often endpoints with secrets that cannot be decrypted are checked again.
// Another process may have deleted them, or encrypted their secrets again.
const sealsEvery = time.Minute

// watchEndpoints begins the replays that a dead process did not begin, and then checks again which
// endpoints cannot be decrypted, until ctx ends.
func (e *Engine) watchEndpoints(ctx context.Context) error {
	if err := e.beginReplays(ctx); err != nil && ctx.Err() == nil {
		e.cfg.Logger.Error("cannot begin the replays of new endpoints: they begin at the next start", "error", err)
	}
	tick := time.NewTicker(sealsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if e.sealed.Load() == nil {
			continue
		}
		if err := e.checkSeals(ctx); err != nil && ctx.Err() == nil {
			e.cfg.Logger.Error("cannot read endpoints", "error", err)
		}
	}
}

// beginReplays begins the missing replays of endpoints that were created with From. If another
// process does so at the same time, that does no harm. A paused or disabled endpoint gets none.
func (e *Engine) beginReplays(ctx context.Context) error {
	var list []deliver.Endpoint
	err := endpoints.NewStore(e.store.Ports().Records, nil).Scan(ctx, func(ep deliver.Endpoint) error {
		if !ep.From.IsZero() {
			list = append(list, ep)
		}
		return nil
	})
	for _, ep := range list {
		_, rerr := e.store.Ports().Replays.Get(ctx, ep.Source.Owner, ep.ID)
		if errors.Is(rerr, deliver.ErrReplayNotFound) {
			_, rerr = e.endpoints.Replay(ctx, ep.Source.Owner, ep.ID, ep.From, time.Time{})
		}
		var refused *deliver.FieldError
		if !errors.As(rerr, &refused) && !errors.Is(rerr, deliver.ErrEndpointNotFound) {
			err = errors.Join(err, rerr)
		}
	}
	return err
}

// maxNamed is how many endpoints an error names at most.
const maxNamed = 10

// checkSeals records for Ready which endpoints cannot be decrypted, and logs changes.
func (e *Engine) checkSeals(ctx context.Context) error {
	list, err := e.endpoints.Sealed(ctx)
	if err != nil {
		return fmt.Errorf("streamwatch: read endpoints: %w", err)
	}
	before := e.sealed.Load()
	if len(list) == 0 {
		e.sealed.Store(nil)
		if before != nil {
			e.cfg.Logger.Info("all endpoints can be decrypted")
		}
		return nil
	}
	var names []string
	for _, ep := range list[:min(len(list), maxNamed)] {
		names = append(names, ep.ID)
	}
	if len(list) > maxNamed {
		names = append(names, "…")
	}
	err = fmt.Errorf("streamwatch: nothing is sent to %d endpoints (%s): start with the key that encrypted their secrets: %w",
		len(list), strings.Join(names, ", "), deliver.ErrSealed)
	e.sealed.Store(&err)
	if before == nil || (*before).Error() != err.Error() {
		e.cfg.Logger.Error("endpoints cannot be decrypted: their deliveries wait for the key", "endpoints", len(list), "error", err)
	}
	return nil
}
