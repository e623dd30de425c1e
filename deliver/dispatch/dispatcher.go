package dispatch

import (
	"context"
	"errors"
	"github.com/streamwatch/streamwatch/deliver"
	"sync"
	"time"
)

// Dispatcher sends deliveries: those that a commit hands over at once, and
// those that the outbox holds when they are due. Each endpoint has a lane, a
// FIFO with a bound on the attempts under way, and lanes take turns. A lane that
// has to wait, for its rate, since the receiver asked for time, or because its
// breaker is open, takes no worker meanwhile, and workers are kept back for lanes
// that have none, so that no receiver holds up another. Its methods are safe for
// concurrent use.
type Dispatcher struct {
	cfg      Config
	settler  *settler
	keeper   *keeper
	replayer *replayer
	stop     chan struct{} // closed by Stop
	stopped  sync.Once

	mu      sync.Mutex
	lanes   map[string]*lane
	sweepAt int // so many lanes: those that are idle are forgotten
	turns   turns
	shut    map[*lane]struct{} // full or parked: nothing is claimed for them
	behind  map[*lane]struct{} // overflowed, and not caught up since
	held    map[string]*item
	workers sync.WaitGroup
	ctx     context.Context // of attempts; nil before Run
	closing bool            // nothing is taken any more
	closed  bool            // no attempt starts any more
	reader  reader
	stats   Stats // the counters
	timing  timing
}

// NewDispatcher checks cfg and returns a dispatcher. It starts nothing: see Run.
func New(cfg Config) (*Dispatcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{cfg: cfg, stop: make(chan struct{}), reader: newReader(), lanes: map[string]*lane{}, sweepAt: maxLanes,
		shut: map[*lane]struct{}{}, behind: map[*lane]struct{}{}, held: map[string]*item{}}
	d.settler, d.keeper, d.replayer = newSettler(d), newKeeper(d), newReplayer(d)
	return d, nil
}

// Run sends until Stop is called, then empties its queues and returns; when
// ctx ends, it cuts the attempts under way and gives back what it holds. It
// may be called once. Every attempt that ended is recorded before it returns,
// as far as the store answers within 5 s.
func (d *Dispatcher) Run(ctx context.Context) error {
	d.mu.Lock()
	if d.ctx != nil {
		d.mu.Unlock()
		return errors.New("dispatch: Run called twice")
	}
	d.ctx = ctx
	d.pump()
	d.mu.Unlock()

	var settling, keeping, replaying sync.WaitGroup
	settling.Go(func() { d.settler.run(ctx) })
	keeping.Go(d.keeper.run)
	if d.cfg.Replays != nil {
		replaying.Go(func() { d.replayer.run(ctx) })
	}
	unhook := context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.closed = true
	})
	defer unhook()
	d.read(ctx)
	replaying.Wait()
	d.close()
	d.workers.Wait()
	close(d.settler.stop)
	close(d.keeper.stop)
	settling.Wait()
	d.giveBackHeld(ctx)
	keeping.Wait()
	return context.Cause(ctx)
}

// close has nothing taken any more. Lanes that wait are not waited for.
func (d *Dispatcher) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closing = true
	for _, l := range d.lanes {
		if l.timer != nil {
			l.timer.Stop()
		}
	}
}

// Stop makes Run end softly: what is due is sent, while retries, and what waits
// for its rate or its receiver, are left to the next process. It does not wait.
func (d *Dispatcher) Stop() { d.stopped.Do(func() { close(d.stop) }) }

// Enqueue takes deliveries straight from a commit. It does not block: those
// that find their lane full, or waiting for long, stay in the outbox until they
// are due, and then take their turn before newer ones.
func (d *Dispatcher) Enqueue(ds []deliver.Delivery) { d.enqueue(ds, false) }

func (d *Dispatcher) enqueue(ds []deliver.Delivery, claimed bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range ds {
		d.push(&ds[i], claimed)
	}
	if !d.closing {
		d.pump()
	}
}

// push queues a delivery, or renews the claim on one that is held already.
func (d *Dispatcher) push(dv *deliver.Delivery, claimed bool) {
	if it, ok := d.held[dv.ID]; ok {
		if it.Due = dv.Due; !it.sending {
			it.State, it.Attempts, it.Uncounted, it.Waited = dv.State, dv.Attempts, dv.Uncounted, dv.Waited // another claimant may have tried
		}
		return
	}
	l := d.lane(dv)
	room := d.capacity(l)
	if len(l.queue) >= room {
		d.setFull(l) // else what is left to the outbox would be claimed again at once
	}
	if d.closing || d.closed || d.rests(l) || len(l.queue) >= room || len(d.held) >= maxHeld || l.behind > 0 && !claimed {
		d.stats.Overflow++
		d.spill(l, dv)
		return
	}
	it := &item{Delivery: *dv, lane: l}
	d.held[dv.ID] = it
	l.queue = append(l.queue, it)
	if len(l.queue) >= room {
		d.setFull(l)
	}
	d.reader.wakeAt(dv.Due.Add(-3 * d.cfg.Lease / 4)) // claims on what waits are renewed
	d.offer(l)
}

func (d *Dispatcher) lane(dv *deliver.Delivery) *lane {
	if l, ok := d.lanes[dv.EndpointID]; ok {
		return l
	}
	if len(d.lanes) >= d.sweepAt {
		now := time.Now()
		for id, l := range d.lanes {
			if l.idle(now) {
				delete(d.lanes, id)
			}
		}
		// Where most are not idle, the next one must not look at all of them again.
		d.sweepAt = max(maxLanes, 2*len(d.lanes))
	}
	l := &lane{id: dv.EndpointID, owner: dv.Owner(), limit: d.cfg.LaneInFlight}
	if _, ok := deliver.HandlerName(dv.EndpointID); ok {
		l.handler, l.limit = true, 1
		l.endpoint = deliver.Endpoint{ID: l.id, URL: l.id, Status: deliver.EndpointActive}
		l.sender, l.scheme = d.sender(l.id)
	}
	d.lanes[dv.EndpointID] = l
	return l
}

// pump starts workers while there is work and room.
func (d *Dispatcher) pump() {
	if d.ctx == nil {
		return
	}
	for {
		var j job
		if !d.next(&j) {
			return
		}
		d.workers.Go(func() { d.work(d.ctx, &j) })
	}
}

// resume offers a lane that waits no more.
func (d *Dispatcher) resume(l *lane) {
	d.offer(l)
	if !d.closing {
		d.pump()
	}
}
