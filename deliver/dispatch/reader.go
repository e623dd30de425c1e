package dispatch

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

const (
	claimLimit  = 512             // deliveries claimed in one call
	blockedWait = time.Second     // between looks while a lane takes nothing, or the outbox cannot be read
	sharedWait  = time.Second     // between looks while other dispatchers share the outbox
	idleWait    = time.Hour       // ended by a bell
	readTimeout = 5 * time.Second // of one read of the outbox, an endpoint or the replays
)

// reader claims due deliveries in the outbox and passes them to the scheduler. It runs in one
// goroutine.
type reader struct {
	cfg     *Config
	sched   *scheduler
	alarm   *alarm
	stop    <-chan struct{}
	stopped time.Time // when stop was closed: what becomes due later is not claimed
	renewal time.Time // when claims are to be renewed
}

// run claims and queues deliveries when they are due, and sleeps in between. It ends when the
// dispatcher stops and has claimed what was due then, or when ctx ends.
func (r *reader) run(ctx context.Context) {
	stop := r.stop
	timer := time.NewTimer(idleWait)
	defer timer.Stop()
	for failed := false; ctx.Err() == nil; {
		wait, due, err := r.look(ctx)
		if err != nil && ctx.Err() == nil && !failed {
			r.cfg.Logger.Error("cannot read the outbox: trying each second", "error", err)
		}
		failed = err != nil
		if stop == nil && !due {
			return
		}
		timer.Reset(r.alarm.sleep(r.cfg.Now(), wait, r.longestSleep()))
		select {
		case <-timer.C:
		case <-r.alarm.bell:
		case <-stop:
			stop, r.stopped = nil, r.cfg.Now()
		case <-ctx.Done():
		}
		r.alarm.awake()
	}
}

// longestSleep returns the longest sleep between two reads. It is bounded because the bell does not
// ring for a commit of another process, or a commit whose answer was lost, and claims are to be
// renewed in time.
func (r *reader) longestSleep() time.Duration {
	if r.sched.shares() {
		return min(sharedWait, r.cfg.Lease/8)
	}
	return r.cfg.Lease / 8
}

// look claims due deliveries and returns how long to sleep. due reports whether a soft stop must
// wait, because more deliveries may be due or full lanes will have room.
func (r *reader) look(ctx context.Context) (wait time.Duration, due bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	now := r.cfg.Now()
	r.alarm.clear()
	round := r.sched.beginRound()
	if _, err := changeDue(ctx, r.cfg, round.spilled, now); err != nil {
		return blockedWait, false, err // the claims expire
	}
	if err := r.renew(ctx, now); err != nil {
		return blockedWait, false, err
	}
	if round.parts != nil && *round.parts == (fleet.Set{}) {
		return idleWait, false, nil
	}
	if !r.stopped.IsZero() {
		now = r.stopped
	}
	next, ok, err := r.cfg.Outbox.NextDue(ctx, round.parts)
	if err != nil {
		return blockedWait, false, err
	}
	if !ok || next.After(now) {
		r.sched.caughtUp(round.n, nil)
		if !ok {
			return idleWait, false, nil
		}
		return next.Sub(now), false, nil
	}
	may := r.sched.allowed()
	if may.limit == 0 {
		return blockedWait, true, nil
	}
	r.sched.beginClaim()
	claimed, err := r.cfg.Outbox.Claim(ctx, deliver.ClaimRequest{Now: now, Lease: r.cfg.Lease, Limit: may.limit, Skip: may.skip, Parts: round.parts})
	if err != nil {
		return blockedWait, false, err
	}
	r.sched.enqueueClaimed(claimed)
	if len(claimed) < may.limit {
		r.sched.caughtUp(round.n, may.skip)
	}
	if len(claimed) == 0 {
		return may.again, may.emptying, nil
	}
	return 0, true, nil
}

// renew renews the claims of queued deliveries long before they end. So the deliveries of a slow
// lane stay in its queue, in their order.
func (r *reader) renew(ctx context.Context, now time.Time) (err error) {
	if now.Before(r.renewal) {
		return nil
	}
	for list := r.sched.expiring(now); len(list) > 0 && err == nil; list = r.sched.expiring(now) {
		err = r.renewSome(ctx, now)
	}
	if err == nil {
		r.renewal = now.Add(r.cfg.Lease / 10)
	}
	return err
}

// renewSome renews up to settleGroup claims. It excludes the settler, because a renewal after an
// outcome would replace the due time of the retry.
func (r *reader) renewSome(ctx context.Context, now time.Time) error {
	r.sched.writing <- struct{}{}
	defer func() { <-r.sched.writing }()
	list := r.sched.expiring(now)
	failed, err := changeDue(ctx, r.cfg, list, now)
	r.sched.renewed(list[:len(list)-len(failed)])
	return err
}

// changeDue changes the Due of claimed deliveries that were not attempted. A Due of now or the end
// of a wait gives the claim back; a later Due renews it. After an error, rest has the changes that
// may not have been made.
func changeDue(ctx context.Context, cfg *Config, list []dueChange, now time.Time) (rest []dueChange, err error) {
	for len(list) > 0 {
		n := min(settleGroup, len(list))
		var ss []deliver.Settlement
		for _, c := range list[:n] {
			if cfg.leaseCovers(c.claimed, now) {
				ss = append(ss, deliver.Settlement{DeliveryID: c.id, Due: c.due})
			}
		}
		if len(ss) > 0 {
			if err := cfg.Outbox.Settle(ctx, ss...); err != nil {
				return list, err
			}
		}
		list = list[n:]
	}
	return nil, nil
}
