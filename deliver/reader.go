package deliver

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
)

const (
	claimLimit  = 512             // deliveries claimed in one call
	blockedWait = time.Second     // how often to look while a lane is full
	idleWait    = time.Hour       // a bell ends it
	readTimeout = 5 * time.Second // of one call of the outbox
)

// reader is when the outbox will be looked at next. The dispatcher's mutex
// guards it.
type reader struct {
	bell    chan struct{} // one slot
	asleep  time.Time     // until when; zero while it looks
	soonest time.Time     // smallest time it was told of since it looked last
	spilled []string      // deliveries claimed for a lane that was full
}

func newReader() reader { return reader{bell: make(chan struct{}, 1)} }

func (r *reader) ring() {
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// wakeAt has the reader look no later than t.
func (r *reader) wakeAt(t time.Time) {
	if r.soonest.IsZero() || t.Before(r.soonest) {
		r.soonest = t
	}
	if t.Before(r.asleep) {
		r.ring()
	}
}

// spill leaves a delivery to the outbox. The reader ends its claim, so that it
// can be claimed again as soon as its lane has room; when very many spill at
// once, the claims of the rest run out by themselves.
func (r *reader) spill(d *Dispatcher, dv *Delivery) {
	if len(r.spilled) < maxHeld {
		r.spilled = append(r.spilled, dv.ID)
		r.wakeAt(d.cfg.Now())
		return
	}
	r.wakeAt(dv.Due)
}

// read sleeps until a delivery is due, claims what is, and queues it. It ends
// when the dispatcher stops and nothing is due, or when ctx ends.
func (d *Dispatcher) read(ctx context.Context) {
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	stop := d.stop
	timer := time.NewTimer(idleWait)
	defer timer.Stop()
	for ctx.Err() == nil {
		wait, due, err := d.look(ctx)
		switch {
		case err == nil:
			pause.Reset()
		case ctx.Err() != nil:
			return
		default:
			d.cfg.Logger.Error("outbox not read", "error", err)
			wait = pause.NextBackOff()
		}
		if stop == nil && (err != nil || !due) {
			return
		}
		timer.Reset(d.sleep(wait))
		select {
		case <-timer.C:
		case <-d.reader.bell:
		case <-stop:
			stop = nil
		case <-ctx.Done():
		}
		d.mu.Lock()
		d.reader.asleep = time.Time{}
		d.mu.Unlock()
	}
}

// sleep notes until when the reader sleeps, and shortens it to what it was
// told meanwhile.
func (d *Dispatcher) sleep(wait time.Duration) time.Duration {
	now := d.cfg.Now()
	d.mu.Lock()
	defer d.mu.Unlock()
	if s := d.reader.soonest; !s.IsZero() && s.Sub(now) < wait {
		wait = max(0, s.Sub(now))
	}
	// Nobody rings for what another process commits, or for a commit whose
	// answer was lost.
	wait = min(wait, d.cfg.Lease)
	if len(d.held) > 0 {
		wait = min(wait, d.cfg.Lease/4) // to renew claims in time
	}
	d.reader.asleep = now.Add(wait)
	return wait
}

// look claims what is due. It says how long to sleep, and whether something is
// due still: more than one call claims, or deliveries whose lane is full.
func (d *Dispatcher) look(ctx context.Context) (wait time.Duration, due bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	now := d.cfg.Now()
	d.mu.Lock()
	d.reader.soonest = time.Time{}
	spilled := d.reader.spilled
	d.reader.spilled = nil
	d.mu.Unlock()
	if err := d.setDue(ctx, spilled, now); err != nil {
		return 0, false, err
	}
	if err := d.renew(ctx, now); err != nil {
		return 0, false, err
	}
	next, ok, err := d.cfg.Outbox.NextDue(ctx)
	switch {
	case err != nil:
		return 0, false, err
	case !ok:
		return idleWait, false, nil
	case next.After(now):
		return next.Sub(now), false, nil
	}
	limit, full := d.room()
	if limit == 0 {
		return blockedWait, true, nil
	}
	got, err := d.cfg.Outbox.Claim(ctx, ClaimRequest{Now: now, Lease: d.cfg.Lease, Limit: limit, Skip: full})
	if err != nil {
		return 0, false, err
	}
	if len(got) == 0 {
		return blockedWait, len(full) > 0, nil
	}
	d.Enqueue(got)
	return 0, true, nil
}

// renew prolongs the claims on what is queued before attempts would let it go,
// so that a slow lane keeps its order.
func (d *Dispatcher) renew(ctx context.Context, now time.Time) error {
	var ids []string
	soon, due := now.Add(d.cfg.Lease/2), now.Add(d.cfg.Lease)
	d.mu.Lock()
	for _, l := range d.lanes {
		for _, it := range l.queue {
			if it.Due.Before(soon) && it.Due.After(now) {
				ids = append(ids, it.ID)
			}
		}
	}
	d.mu.Unlock()
	if err := d.setDue(ctx, ids, due); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, id := range ids {
		if it, ok := d.held[id]; ok {
			it.Due = due
		}
	}
	return nil
}

// room is how many deliveries may be claimed, and the endpoints whose lanes
// take none: a lane found full is left alone until it has emptied to the half.
func (d *Dispatcher) room() (limit int, full []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for id, l := range d.lanes {
		if len(l.queue) >= d.cfg.LaneQueue || l.full && len(l.queue) > d.cfg.LaneQueue/2 {
			l.full = true
			full = append(full, id)
		}
	}
	return min(claimLimit, max(1, d.cfg.LaneQueue/2), maxHeld-len(d.held)), full
}
