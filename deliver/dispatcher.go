package deliver

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"sync"
	"time"
)

// DispatcherConfig sets up a Dispatcher. The zero value of each field means
// its default.
type DispatcherConfig struct {
	// Outbox and Endpoints are the store's. Required.
	Outbox    Outbox
	Endpoints EndpointStore
	// Senders by URL scheme, such as "https". In-process handlers are sent to
	// under SchemeHandler. Required.
	Senders map[string]Sender

	// Workers bounds the attempts under way in all lanes. Defaults to 256.
	Workers int
	// LaneInFlight bounds the attempts under way to one endpoint. Defaults to
	// 4; a handler gets one event at a time, in order.
	LaneInFlight int
	// LaneQueue bounds the deliveries an endpoint's lane holds in memory; more
	// wait in the outbox. Defaults to 1024.
	LaneQueue int
	// Timeout bounds an attempt. Defaults to 10 s.
	Timeout time.Duration
	// RetrySchedule is the wait before each retry, each ±20 %. Defaults to 5 s,
	// 60 s, 720 s; empty and not nil means no retries.
	RetrySchedule []time.Duration
	// Lease is how long a claimed delivery is this dispatcher's. Defaults to
	// 45 s; at least four times Timeout.
	Lease time.Duration

	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now stamps; waiting uses the runtime's timers. Defaults to time.Now.
	Now func() time.Time
}

const (
	maxHeld     = 65_536 // deliveries held in memory by all lanes
	maxLanes    = 65_536 // lanes kept while idle
	endpointTTL = 10 * time.Second
)

func (c DispatcherConfig) withDefaults() (DispatcherConfig, error) {
	switch {
	case c.Outbox == nil:
		return c, errors.New("deliver: Outbox is missing: want a deliver.Outbox")
	case c.Endpoints == nil:
		return c, errors.New("deliver: Endpoints is missing: want a deliver.EndpointStore")
	case len(c.Senders) == 0:
		return c, errors.New("deliver: Senders is empty: want at least one by URL scheme")
	}
	for scheme, s := range c.Senders {
		if u, err := url.Parse(scheme + ":x"); err != nil || u.Scheme != scheme {
			return c, fmt.Errorf("deliver: Senders key %q is not allowed: want a URL scheme in lower case", scheme)
		}
		if s == nil {
			return c, fmt.Errorf("deliver: Senders[%q] is nil: want a deliver.Sender", scheme)
		}
	}
	for _, f := range []struct {
		name     string
		ptr      *int
		def, max int
	}{
		{"Workers", &c.Workers, 256, 65_536},
		{"LaneInFlight", &c.LaneInFlight, 4, 1024},
		{"LaneQueue", &c.LaneQueue, 1024, maxHeld},
	} {
		if *f.ptr == 0 {
			*f.ptr = f.def
		}
		if *f.ptr < 0 || *f.ptr > f.max {
			return c, fmt.Errorf("deliver: %s %d is not allowed: want 1 to %d, or 0 for the default", f.name, *f.ptr, f.max)
		}
	}
	if c.Timeout == 0 {
		c.Timeout = 10 * time.Second
	}
	if c.Timeout < 0 || c.Timeout > 10*time.Minute {
		return c, fmt.Errorf("deliver: Timeout %s is not allowed: want more than 0 and at most 10m, or 0 for 10s", c.Timeout)
	}
	if c.Lease == 0 {
		c.Lease = max(45*time.Second, 4*c.Timeout)
	}
	if c.Lease < 4*c.Timeout || c.Lease > time.Hour {
		return c, fmt.Errorf("deliver: Lease %s is not allowed: want %s (4 × Timeout) to 1h", c.Lease, 4*c.Timeout)
	}
	var err error
	if c.RetrySchedule, err = checkSchedule(c.RetrySchedule); err != nil {
		return c, err
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c, nil
}

// Dispatcher sends deliveries: those that a commit hands over at once, and
// those that the outbox holds when they are due. Each endpoint has a lane, a
// FIFO with a bound on the attempts under way, and lanes take turns, so that
// waiting for one receiver never holds up another. Its methods are safe for
// concurrent use.
type Dispatcher struct {
	cfg     DispatcherConfig
	settler *settler
	stop    chan struct{} // closed by Stop
	stopped sync.Once

	mu      sync.Mutex
	lanes   map[string]*lane
	ring    []*lane // lanes that want a worker, in turn
	held    map[string]*item
	running int // workers
	workers sync.WaitGroup
	ctx     context.Context // of attempts; nil before Run
	closing bool            // nothing is taken any more
	closed  bool            // no attempt starts any more
	reader  reader
	stats   Stats // the counters
	timing  timing
}

// NewDispatcher checks cfg and returns a dispatcher. It starts nothing: see Run.
func NewDispatcher(cfg DispatcherConfig) (*Dispatcher, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	d := &Dispatcher{cfg: cfg, stop: make(chan struct{}),
		lanes: map[string]*lane{}, held: map[string]*item{}, reader: newReader()}
	d.settler = newSettler(d)
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
		return errors.New("deliver: Run called twice")
	}
	d.ctx = ctx
	d.pump()
	d.mu.Unlock()

	var settling sync.WaitGroup
	settling.Go(func() { d.settler.run(ctx) })
	unhook := context.AfterFunc(ctx, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.closed = true
	})
	defer unhook()
	d.read(ctx)
	d.mu.Lock()
	d.closing = true
	d.mu.Unlock()
	d.workers.Wait()
	close(d.settler.stop)
	settling.Wait()
	d.giveBackHeld(ctx)
	return context.Cause(ctx)
}

// Stop makes Run end softly: what is due is sent, retries wait for the next
// process. It does not wait.
func (d *Dispatcher) Stop() { d.stopped.Do(func() { close(d.stop) }) }

// Enqueue takes deliveries straight from a commit. It does not block: those
// that find their lane full stay in the outbox until they are due.
func (d *Dispatcher) Enqueue(ds []Delivery) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for i := range ds {
		d.push(&ds[i])
	}
	d.pump()
}

// push queues a delivery, or renews the claim on one that is held already.
func (d *Dispatcher) push(dv *Delivery) {
	if it, ok := d.held[dv.ID]; ok {
		if it.Due = dv.Due; !it.sending {
			it.State, it.Attempts = dv.State, dv.Attempts // another claimant may have tried
		}
		return
	}
	l := d.lane(dv)
	if d.closing || d.closed || len(l.queue) >= d.cfg.LaneQueue || len(d.held) >= maxHeld {
		d.stats.Overflow++
		d.reader.spill(d, dv)
		return
	}
	it := &item{Delivery: *dv, lane: l}
	d.held[dv.ID] = it
	l.queue = append(l.queue, it)
	d.reader.wakeAt(dv.Due.Add(-3 * d.cfg.Lease / 4)) // claims on what waits are renewed
	d.offer(l)
}

func (d *Dispatcher) lane(dv *Delivery) *lane {
	if l, ok := d.lanes[dv.EndpointID]; ok {
		return l
	}
	if len(d.lanes) >= maxLanes {
		for id, l := range d.lanes {
			if l.idle() {
				delete(d.lanes, id)
			}
		}
	}
	l := &lane{id: dv.EndpointID, owner: dv.Owner(), limit: d.cfg.LaneInFlight}
	if _, ok := HandlerName(dv.EndpointID); ok {
		l.limit = 1
	}
	d.lanes[dv.EndpointID] = l
	return l
}

// offer puts a lane that wants a worker at the end of the ring.
func (d *Dispatcher) offer(l *lane) {
	if l.wantsWorker() && !l.ready {
		l.ready = true
		d.ring = append(d.ring, l)
	}
}

// next takes one delivery of the lane whose turn it is, nil if none wants.
func (d *Dispatcher) next() *item {
	for len(d.ring) > 0 && !d.closed {
		l := d.ring[0]
		d.ring[0] = nil
		d.ring = d.ring[1:]
		l.ready = false
		if !l.wantsWorker() {
			continue
		}
		it := l.pop()
		d.offer(l)
		if l.full && len(l.queue) <= d.cfg.LaneQueue/2 {
			l.full = false
			d.reader.ring()
		}
		return it
	}
	return nil
}

// pump starts workers while there is work and room.
func (d *Dispatcher) pump() {
	if d.ctx == nil {
		return
	}
	for d.running < d.cfg.Workers {
		it := d.next()
		if it == nil {
			return
		}
		d.running++
		d.stats.InFlight++
		d.workers.Go(func() { d.work(d.ctx, it) })
	}
}

// work attempts deliveries until none is left.
func (d *Dispatcher) work(ctx context.Context, it *item) {
	for it != nil {
		d.attempt(ctx, it)
		d.mu.Lock()
		l := it.lane
		l.inFlight--
		d.offer(l)
		it = d.next()
		if it == nil {
			d.running--
			d.stats.InFlight--
		}
		d.mu.Unlock()
	}
}

// Drop ends an endpoint's lane: no attempt starts any more. Those under way
// finish.
func (d *Dispatcher) Drop(endpointID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	l, ok := d.lanes[endpointID]
	if !ok {
		return
	}
	for _, it := range l.queue {
		delete(d.held, it.ID)
	}
	l.queue = nil
	delete(d.lanes, endpointID)
}

// Refresh makes the next attempt read the endpoint again.
func (d *Dispatcher) Refresh(endpointID string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l, ok := d.lanes[endpointID]; ok {
		l.loaded = time.Time{}
		l.gen++
	}
}
