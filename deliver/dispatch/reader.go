package dispatch

import (
	"context"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/streamwatch/streamwatch/deliver"
)

const (
	claimLimit  = 512             // deliveries claimed in one call
	blockedWait = time.Second     // how often to look while a lane takes nothing
	idleWait    = time.Hour       // a bell ends it
	readTimeout = 5 * time.Second // of one call of the outbox
)

// reader is when the outbox will be looked at next. The dispatcher's mutex
// guards it.
type reader struct {
	bell    chan struct{} // one slot
	asleep  time.Time     // until when; zero while it looks
	soonest time.Time     // smallest time it was told of since it looked last
	renewal time.Time     // when claims are to be renewed
	round   int64         // counts looks, from 1
	spilled []moved       // deliveries for which no lane had room
}

// moved is a delivery whose Due is to be changed while it is claimed.
type moved struct {
	id      string
	claimed time.Time // until when
	due     time.Time
}

func newReader() reader { return reader{bell: make(chan struct{}, 1), round: 1} }

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

// spill leaves a claimed delivery to the outbox. The reader ends its claim, so
// that it can be claimed again as soon as its lane has room; when very many spill
// at once, the claims of the rest run out by themselves.
func (r *reader) spill(dv *deliver.Delivery, due, now time.Time) {
	if len(r.spilled) < maxHeld {
		r.spilled = append(r.spilled, moved{dv.ID, dv.Due, due})
		r.wakeAt(now)
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
		wait = min(wait, d.cfg.Lease/8) // to renew claims in time
	}
	d.reader.asleep = now.Add(wait)
	return wait
}

// look claims what is due. It says how long to sleep, and whether a soft stop
// has to wait: more may be due, or lanes are full that will have room.
func (d *Dispatcher) look(ctx context.Context) (wait time.Duration, due bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	now := d.cfg.Now()
	d.mu.Lock()
	d.reader.soonest = time.Time{}
	d.reader.round++
	round := d.reader.round
	spilled := d.reader.spilled
	d.reader.spilled = nil
	d.mu.Unlock()
	if err := d.move(ctx, spilled, now); err != nil {
		return 0, false, err
	}
	if err := d.renew(ctx, now); err != nil {
		return 0, false, err
	}
	next, ok, err := d.cfg.Outbox.NextDue(ctx)
	if err != nil {
		return 0, false, err
	}
	if !ok || next.After(now) {
		d.caughtUp(round, nil)
		if !ok {
			return idleWait, false, nil
		}
		return next.Sub(now), false, nil
	}
	limit, shut, again, emptying := d.room()
	if limit == 0 {
		return blockedWait, true, nil
	}
	got, err := d.cfg.Outbox.Claim(ctx, deliver.ClaimRequest{Now: now, Lease: d.cfg.Lease, Limit: limit, Skip: shut})
	if err != nil {
		return 0, false, err
	}
	if len(got) < limit {
		d.caughtUp(round, shut)
	}
	if len(got) == 0 {
		return again, emptying, nil
	}
	d.enqueue(got, true)
	return 0, true, nil
}

// caughtUp ends the precedence of the outbox for lanes that nothing is due for,
// but for those that were left out: what overflowed before this round was there
// to be claimed.
func (d *Dispatcher) caughtUp(round int64, shut []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.behind) == 0 {
		return
	}
	left := make(map[string]bool, len(shut))
	for _, id := range shut {
		left[id] = true
	}
	for l := range d.behind {
		if l.behind < round && !left[l.id] && !d.rests(l) {
			l.behind = 0
			delete(d.behind, l)
		}
	}
}

// renew prolongs the claims on what is queued before attempts would let it go,
// so that a slow lane keeps its order.
func (d *Dispatcher) renew(ctx context.Context, now time.Time) error {
	var claims []moved
	due := now.Add(d.cfg.Lease)
	d.mu.Lock()
	if now.Before(d.reader.renewal) {
		d.mu.Unlock()
		return nil
	}
	soon := now.Add(d.cfg.Lease / 2)
	for _, l := range d.lanes {
		for _, it := range slices.Concat(l.queue, l.later) {
			if it.Due.Before(soon) {
				claims = append(claims, moved{it.ID, it.Due, due})
			}
		}
	}
	d.mu.Unlock()
	if err := d.move(ctx, claims, now); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reader.renewal = now.Add(d.cfg.Lease / 10)
	for _, c := range claims {
		if it, ok := d.held[c.id]; ok && it.Due.Equal(c.claimed) && d.lasts(c.claimed, now) {
			it.Due = due
		}
	}
	return nil
}

// lasts reports whether a claim is this dispatcher's for long enough to do
// something with it: to begin an attempt, or to change it. One that is about to
// end may be another process's already, whose clock need not be ours; it is left
// to run out.
func (d *Dispatcher) lasts(claimed, now time.Time) bool {
	return !claimed.Before(now.Add(d.cfg.Timeout))
}

// move changes when deliveries are due that were claimed and not attempted: to
// now or the end of a pause gives them back, to later renews the claim.
func (d *Dispatcher) move(ctx context.Context, list []moved, now time.Time) error {
	var ss []deliver.Settlement
	for i, m := range list {
		if d.lasts(m.claimed, now) {
			ss = append(ss, deliver.Settlement{DeliveryID: m.id, Due: m.due})
		}
		if len(ss) == settleGroup || i == len(list)-1 && len(ss) > 0 {
			if err := d.cfg.Outbox.Settle(ctx, ss...); err != nil {
				return err
			}
			ss = ss[:0]
		}
	}
	return nil
}

// room is how many deliveries may be claimed, and the endpoints whose lanes take
// none: one found full is left alone until it has emptied to the half, one that
// waits for long until it has waited. again is when to look again if all that is
// due is theirs; emptying says that one will have room soon.
func (d *Dispatcher) room() (limit int, shut []string, again time.Duration, emptying bool) {
	again = blockedWait
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range d.shut {
		rests := d.rests(l)
		if l.full && len(l.queue) <= d.capacity(l)/2 {
			l.full = false
		}
		switch {
		case rests:
			again = min(again, time.Until(l.until))
		case l.full:
			emptying = emptying || !l.hung && l.limiter == nil && time.Now().After(l.until)
		default:
			delete(d.shut, l)
			continue
		}
		shut = append(shut, l.id)
	}
	return min(claimLimit, max(1, d.cfg.LaneQueue/2), maxHeld-len(d.held)), shut, again, emptying
}
