package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// Dispatcher sends deliveries: those of a commit at once, and those in the outbox when they
// are due. Each endpoint has a lane, a FIFO with a bound on the attempts under way, and
// lanes take turns. A lane that waits, for its rate, because the receiver asked for time,
// or because its breaker is open, takes no worker, and workers are reserved for lanes that
// have none: no receiver holds up another. Its methods are safe for concurrent use.
type Dispatcher struct {
	cfg      *Config
	sched    *scheduler
	reader   *reader
	workers  *workers
	settler  *settler
	health   *healthWriter
	replayer *replayer
	timing   *timing
	stop     chan struct{} // closed by Stop
	stopped  sync.Once
}

// New checks cfg and returns a dispatcher. It starts nothing: see Run.
func New(cfg Config) (*Dispatcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{cfg: &cfg, stop: make(chan struct{}), timing: new(timing)}
	a := newAlarm()
	d.health = newHealthWriter(&cfg)
	d.sched = newScheduler(&cfg, a, d.health)
	d.settler = newSettler(&cfg, d.sched)
	d.replayer = newReplayer(&cfg, d.sched, d.stop)
	d.workers = &workers{cfg: &cfg, sched: d.sched, settler: d.settler, replayer: d.replayer, timing: d.timing}
	d.reader = &reader{cfg: &cfg, sched: d.sched, alarm: a, stop: d.stop}
	return d, nil
}

// Run sends until Stop is called, then empties its queues and returns. When ctx ends, it
// cuts the attempts under way and gives its deliveries back. It may be called once. Every
// attempt that ended is recorded before it returns, if the store answers within 5 s.
func (d *Dispatcher) Run(ctx context.Context) error {
	if !d.sched.open(func(j *job) { d.workers.start(ctx, j) }) {
		return errors.New("dispatch: Run called twice")
	}
	var settling, writing, replaying sync.WaitGroup
	settling.Go(func() { d.settler.run(ctx) })
	writing.Go(d.health.run)
	if d.cfg.Replays != nil {
		replaying.Go(func() { d.replayer.run(ctx) })
	}
	unhook := context.AfterFunc(ctx, d.sched.cut)
	defer unhook()
	d.reader.run(ctx)
	replaying.Wait()
	d.sched.close()
	d.workers.running.Wait()
	close(d.settler.stop)
	close(d.health.stop)
	settling.Wait()
	d.giveBackHeld(ctx)
	writing.Wait()
	return context.Cause(ctx)
}

// giveBackHeld makes the deliveries still in memory claimable by others.
func (d *Dispatcher) giveBackHeld(run context.Context) {
	now := d.cfg.Now()
	list := d.sched.giveBack(now)
	ctx, cancel := d.settler.timeout(run)
	defer cancel()
	if rest, err := changeDue(ctx, d.cfg, list, now); err != nil {
		d.cfg.Logger.Error("cannot give deliveries back: they are sent when their claims expire", "deliveries", len(rest), "error", err)
	}
}

// Stop makes Run end softly: it sends due deliveries, and leaves retries, and deliveries
// that wait for their rate or receiver, to the next process. Stop does not wait.
func (d *Dispatcher) Stop() { d.stopped.Do(func() { close(d.stop) }) }

// Enqueue queues the deliveries of a commit. It does not block: a delivery whose lane is
// full, or waits for long, stays in the outbox until it is due, and is then sent before
// newer ones.
func (d *Dispatcher) Enqueue(ds []deliver.Delivery) {
	d.cfg.tell(d.sched.enqueue(ds))
}

// Stats returns the counters and histograms. The counters are of one moment.
func (d *Dispatcher) Stats() Stats {
	s := d.sched.stats()
	s.Replays = d.replayer.count()
	s.Handover, s.Send, s.Total = d.timing.handover.Snapshot(), d.timing.send.Snapshot(), d.timing.total.Snapshot()
	return s
}

// Drop ends an endpoint's lane: no attempt begins after Drop has returned. Attempts under
// way finish.
func (d *Dispatcher) Drop(endpointID string) { d.sched.dropLane(endpointID) }

// Refresh makes the endpoint's record be read again before the next attempt: no attempt
// uses the old record after Refresh has returned.
func (d *Dispatcher) Refresh(endpointID string) {
	d.sched.recordChanged(endpointID)
	d.replayer.ask()
}

// Reset forgets the failures of an endpoint when its owner has changed the receiver or says
// that it is up again: new deliveries do not wait for the breaker, or for the time that the
// receiver asked for. Deliveries that went back to the outbox for such a wait are sent when
// it would have ended. Answers to attempts under way do not count.
func (d *Dispatcher) Reset(endpointID string) { d.sched.resetEndpoint(endpointID) }

// FailingSince returns when the first failed attempt to an endpoint began since the last
// success, of the attempts of this process; zero without one.
func (d *Dispatcher) FailingSince(endpointID string) time.Time {
	return d.sched.failingSince(endpointID)
}

// Sender returns the sender for a URL scheme, bounded by Config.Timeout, with a panic turned
// into a failure, as for attempts. It is nil if the scheme has no sender.
func (d *Dispatcher) Sender(scheme string) deliver.Sender {
	s := d.cfg.Senders[scheme]
	if s == nil {
		return nil
	}
	return bounded{Sender: s, Timeout: d.cfg.Timeout}
}

// Reopen makes final deliveries of an endpoint be sent again, from now on: see
// deliver.Outbox.
func (d *Dispatcher) Reopen(ctx context.Context, owner, endpointID string, ids []string) (int, error) {
	now := d.cfg.Now()
	n, err := d.cfg.Outbox.Reopen(ctx, deliver.ReopenRequest{Owner: owner, IDs: ids, Due: now})
	if err != nil {
		return 0, err
	}
	if !d.sched.notifyOwner(endpointID) {
		d.reader.alarm.wakeAt(now)
	}
	return n, nil
}

var errNoReplays = errors.New("dispatch: Config.Replays is missing: replays want a deliver.Replays")

// StartReplay stores a replay, which Run carries out: see deliver.Replays.
func (d *Dispatcher) StartReplay(ctx context.Context, r deliver.Replay) error {
	if d.cfg.Replays == nil {
		return errNoReplays
	}
	if err := d.cfg.Replays.Start(ctx, r); err != nil {
		return err
	}
	if !d.sched.notifyOwner(r.EndpointID) {
		d.replayer.ask()
	}
	return nil
}

// Replay returns an endpoint's replay, with Waits set if this process knows why it does not
// go on: see deliver.Replays.
func (d *Dispatcher) Replay(ctx context.Context, owner, endpointID string) (deliver.Replay, error) {
	if d.cfg.Replays == nil {
		return deliver.Replay{}, errNoReplays
	}
	r, err := d.cfg.Replays.Get(ctx, owner, endpointID)
	if err != nil || r.State == deliver.ReplayDone {
		return r, err
	}
	r.Waits = d.replayer.waitsFor(endpointID)
	if r.Waits == "" && d.sched.inTrouble(endpointID) {
		r.Waits = "the receiver does not answer well"
	}
	return r, nil
}
