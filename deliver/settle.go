package deliver

import (
	"context"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v4"
)

const (
	maxSettling   = 8192 // settlements waiting; beyond it workers wait
	settleGroup   = 1024 // settlements in one call of the outbox
	settleTimeout = 5 * time.Second
)

// settler records outcomes in groups: whatever has ended while the last group
// was written goes into the next. It is one goroutine.
type settler struct {
	d    *Dispatcher
	mu   sync.Mutex
	room sync.Cond
	wait []settled
	bell chan struct{}
	stop chan struct{} // closed when no worker is left
}

type settled struct {
	it *item
	s  Settlement
}

func newSettler(d *Dispatcher) *settler {
	s := &settler{d: d, bell: make(chan struct{}, 1), stop: make(chan struct{})}
	s.room.L = &s.mu
	return s
}

// put queues an outcome; a store that does not keep up slows the workers down.
func (s *settler) put(o settled) {
	s.mu.Lock()
	for len(s.wait) >= maxSettling {
		s.room.Wait()
	}
	s.wait = append(s.wait, o)
	s.mu.Unlock()
	select {
	case s.bell <- struct{}{}:
	default:
	}
}

func (s *settler) take() []settled {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.wait), settleGroup)
	group := s.wait[:n:n]
	s.wait = s.wait[n:]
	s.room.Broadcast()
	return group
}

func (s *settler) run() {
	for {
		group := s.take()
		if len(group) > 0 {
			s.write(group)
			continue
		}
		select {
		case <-s.bell:
		case <-s.stop:
			if group = s.take(); len(group) == 0 {
				return
			}
			s.write(group)
		}
	}
}

// write records a group, again and again until the store takes it: outcomes
// must not be lost while the process lives. Once it is shutting down, a store
// that fails for settleTimeout is left alone; the claims run out, and the
// attempts repeat with the same ids.
func (s *settler) write(group []settled) {
	ss := make([]Settlement, len(group))
	for i := range group {
		ss[i] = group[i].s
	}
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	for {
		ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
		err := s.d.cfg.Outbox.Settle(ctx, ss...)
		cancel()
		if err == nil {
			break
		}
		s.d.cfg.Logger.Error("outcomes not recorded", "deliveries", len(ss), "error", err)
		timer := time.NewTimer(pause.NextBackOff())
		select {
		case <-timer.C:
			continue
		case <-s.stop:
			timer.Stop()
			ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
			if err := s.d.cfg.Outbox.Settle(ctx, ss...); err != nil {
				s.d.cfg.Logger.Error("outcomes left unrecorded", "deliveries", len(ss), "error", err)
			}
			cancel()
		}
		break
	}
	s.d.finish(group)
}

// finish lets recorded deliveries go, and has retries picked up in time.
func (d *Dispatcher) finish(group []settled) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, o := range group {
		delete(d.held, o.it.ID)
		if o.s.State == StateRetrying || o.s.Attempt == nil {
			d.reader.wakeAt(o.s.Due)
		}
	}
}

// giveBackHeld makes what is still queued at the end claimable by others.
func (d *Dispatcher) giveBackHeld() {
	d.mu.Lock()
	ids := d.reader.spilled
	d.reader.spilled = nil
	for id := range d.held {
		ids = append(ids, id)
	}
	clear(d.held)
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), settleTimeout)
	defer cancel()
	if err := d.giveBack(ctx, ids); err != nil {
		d.cfg.Logger.Error("deliveries not given back", "deliveries", len(ids), "error", err)
	}
}

// giveBack ends the claims on deliveries that were not attempted.
func (d *Dispatcher) giveBack(ctx context.Context, ids []string) error {
	now := d.cfg.Now()
	for len(ids) > 0 {
		n := min(len(ids), settleGroup)
		ss := make([]Settlement, n)
		for i, id := range ids[:n] {
			ss[i] = Settlement{DeliveryID: id, Due: now}
		}
		if err := d.cfg.Outbox.Settle(ctx, ss...); err != nil {
			return err
		}
		ids = ids[n:]
	}
	return nil
}
