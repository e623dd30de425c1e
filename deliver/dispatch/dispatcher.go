package dispatch

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
)

// Dispatcher sends deliveries: new ones immediately, those in the outbox when they are due. Each
// endpoint has a lane: a FIFO queue with a bound on the attempts under way. Lanes take turns.
// While a lane waits for its rate, its breaker or a time that the receiver asked for, it uses no
// worker. Some workers are reserved for lanes that use none, so no receiver delays another. The
// methods are safe for concurrent use.
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

// Run sends deliveries until Stop is called, then empties its queues and returns. When ctx ends,
// Run cancels the attempts under way and gives the deliveries in memory back to the outbox. Before
// it returns, it records every attempt that has ended, if the store answers within 5 s. Run may be
// called once.
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

// Stop makes Run send the deliveries that are due and return. Retries, and deliveries that wait
// for their rate or receiver, stay in the outbox for the next process. Stop does not wait.
func (d *Dispatcher) Stop() { d.stopped.Do(func() { close(d.stop) }) }

// Enqueue queues the deliveries of a commit. It does not block. If the lane of a delivery is full
// or waits for long, the delivery stays in the outbox; the reader claims it later, before newer
// deliveries of the lane are sent.
func (d *Dispatcher) Enqueue(ds []deliver.Delivery) {
	d.cfg.tell(d.sched.enqueue(ds))
}

// Stats returns the counters and histograms. The counters are consistent with each other.
func (d *Dispatcher) Stats() Stats {
	s := d.sched.stats()
	s.Replays = d.replayer.count()
	s.Handover, s.Send, s.Total = d.timing.handover.Snapshot(), d.timing.send.Snapshot(), d.timing.total.Snapshot()
	return s
}

// DropOwner removes the lanes of the endpoints of owners that were erased, those for which gone
// returns true. No attempt from them begins after DropOwner has returned. Attempts under way finish.
func (d *Dispatcher) DropOwner(gone func(owner string) bool) { d.sched.dropOwner(gone) }

// FailingSince returns when the first failed attempt since the last success began, as far as this
// process knows. It returns zero if there is none.
func (d *Dispatcher) FailingSince(endpointID string) time.Time {
	return d.sched.failingSince(endpointID)
}

// Sender returns the sender for a URL scheme, or nil if there is none. As in an attempt, Send ends
// after Config.Timeout, and a panic of the sender is a failure.
func (d *Dispatcher) Sender(scheme string) deliver.Sender {
	s := d.cfg.Senders[scheme]
	if s == nil {
		return nil
	}
	return bounded{Sender: s, Timeout: d.cfg.Timeout}
}

// Reopen makes final deliveries of an endpoint due now, to send them again: see
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

// Replay returns an endpoint's replay: see deliver.Replays. It sets Waits if this process knows why
// the replay makes no progress.
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
