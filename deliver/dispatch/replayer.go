package dispatch

import (
	"context"
	"errors"
	"github.com/streamwatch/streamwatch/deliver"
	"time"
)

const (
	replayBatch = 64          // deliveries made in one step
	replayLow   = 16          // waiting in a lane: fewer, and the next step is made
	maxReplays  = 256         // that one process carries out at a time; others wait
	replayIdle  = time.Second // how often to look whether a lane has room again
	replayShare = 4           // a step is followed by so many times as long without one
)

// replayer carries out replays, one step at a time. It is one goroutine of
// Dispatcher.Run, and rests after each step, so that commits and outcomes find
// the store free. A step is made when the lane has sent nearly all of the one
// before, and nothing of its own waits in the outbox. The dispatcher's mutex
// guards its fields.
type replayer struct {
	d       *Dispatcher
	bell    chan struct{} // one slot
	asked   bool          // there may be others to run
	looked  time.Time     // when Running was asked last
	running map[string]deliver.Replay
	waits   map[string]string // by endpoint: why it does not go on
}

func newReplayer(d *Dispatcher) *replayer {
	return &replayer{d: d, bell: make(chan struct{}, 1), asked: true, running: map[string]deliver.Replay{}, waits: map[string]string{}}
}

func (r *replayer) ring() {
	select {
	case r.bell <- struct{}{}:
	default:
	}
}

// ask has it look for replays to carry out.
func (r *replayer) ask() {
	r.asked = true
	r.ring()
}

// run ends when the dispatcher stops or ctx ends; what is left goes on in the
// next process, or in another when Replay.Due has come.
func (r *replayer) run(ctx context.Context) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-r.bell:
		case <-r.d.stop:
			return
		case <-ctx.Done():
			return
		}
		began := time.Now()
		wait := replayIdle
		if r.round(ctx) {
			wait = min(max(replayShare*time.Since(began), time.Millisecond), wait)
			rest := time.NewTimer(wait)
			select {
			case <-rest.C:
			case <-r.d.stop:
			case <-ctx.Done():
			}
			rest.Stop()
			wait = 0
		} else if r.idle() {
			wait = r.d.cfg.Lease / 2 // until other processes' replays may be due
		}
		timer.Reset(wait)
	}
}

func (r *replayer) idle() bool {
	r.d.mu.Lock()
	defer r.d.mu.Unlock()
	return len(r.running) == 0 && !r.asked
}

// round makes one step of each replay whose lane has room, and says whether it
// made any.
func (r *replayer) round(ctx context.Context) (any bool) {
	r.look(ctx)
	r.d.mu.Lock()
	var ready []deliver.Replay
	for id, rp := range r.running {
		if r.d.hasRoom(id) {
			ready = append(ready, rp)
		}
	}
	r.d.mu.Unlock()
	for _, rp := range ready {
		if ctx.Err() != nil {
			return false
		}
		any = r.step(ctx, rp) || any
	}
	return any
}

// look finds replays that are due: new ones, and those of processes that died.
func (r *replayer) look(ctx context.Context) {
	d := r.d
	d.mu.Lock()
	now := time.Now()
	if !r.asked && now.Sub(r.looked) < d.cfg.Lease/2 {
		d.mu.Unlock()
		return
	}
	r.asked, r.looked = false, now
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	found, err := d.cfg.Replays.Running(ctx, d.cfg.Now(), maxReplays)
	if err != nil {
		if ctx.Err() == nil {
			d.cfg.Logger.Error("replays not read", "error", err)
		}
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, rp := range found {
		if had, ok := r.running[rp.EndpointID]; (ok || len(r.running) < maxReplays) && had.ID != rp.ID {
			r.running[rp.EndpointID] = rp
		}
	}
}

// step makes one step, and says whether the store was asked with success.
func (r *replayer) step(ctx context.Context, rp deliver.Replay) bool {
	d := r.d
	now := d.cfg.Now()
	call, cancel := context.WithTimeout(ctx, readTimeout)
	got, made, err := d.cfg.Replays.Step(call, deliver.ReplayStep{Owner: rp.Owner, EndpointID: rp.EndpointID, ID: rp.ID,
		Cursor: rp.Cursor, Limit: replayBatch, Now: now.UTC().Round(0), DeliverBy: now.Add(d.cfg.Lease)})
	cancel()
	d.mu.Lock()
	defer d.mu.Unlock()
	id, waited := rp.EndpointID, r.waits[rp.EndpointID]
	delete(r.waits, id)
	switch {
	case err == nil:
		r.running[id] = got
		d.stats.Replayed += int64(len(made))
		for i := range made {
			d.pushReplayed(&made[i])
		}
		if !d.closing {
			d.pump()
		}
		if got.State == deliver.ReplayDone {
			delete(r.running, id)
			d.cfg.Logger.Info("replay done", "endpoint", id, "replay", got.ID, "created", got.Created, "reopened", got.Reopened, "left", got.Left, "removed", got.Removed)
		}
		return true
	case errors.Is(err, deliver.ErrReplayNotFound), errors.Is(err, deliver.ErrReplayConflict): // gone, done, or another process's
		delete(r.running, id)
	case errors.Is(err, deliver.ErrReplayWaits): // found again by look, after a change of the endpoint at once
		delete(r.running, id)
		r.waits[id] = "the endpoint is not active"
	case ctx.Err() == nil:
		r.waits[id] = "the store does not answer"
		if waited == "" {
			d.cfg.Logger.Error("replay not moved", "endpoint", id, "replay", rp.ID, "error", err)
		}
	}
	return false
}

// hasRoom reports whether more of a replay may be made for an endpoint.
func (d *Dispatcher) hasRoom(endpointID string) bool {
	if d.closing || d.closed || len(d.held) > maxHeld/2 {
		return false
	}
	l, ok := d.lanes[endpointID]
	now := time.Now()
	if ok && l.fresh(now) && (l.refusal != "" || !l.endpoint.PausedSince.IsZero()) {
		return false
	}
	return !ok || len(l.later) < replayLow && len(l.queue) <= l.limit && l.behind == 0 && !l.full && !l.hung &&
		l.breaker.open == 0 && !l.loading && !now.Before(l.until)
}

// pushReplayed queues what a step made. It is sent when nothing else waits in
// its lane.
func (d *Dispatcher) pushReplayed(dv *deliver.Delivery) {
	if _, ok := d.held[dv.ID]; ok {
		return
	}
	l := d.lane(dv)
	if d.closing || d.closed || d.rests(l) || len(d.held) >= maxHeld {
		d.spill(l, dv)
		return
	}
	it := &item{Delivery: *dv, lane: l, replayed: true}
	d.held[dv.ID] = it
	l.later = append(l.later, it)
	d.reader.wakeAt(dv.Due.Add(-3 * d.cfg.Lease / 4)) // claims on what waits are renewed
	d.offer(l)
}

// waiting is what a lane has queued, of replays, too.
func (l *lane) waiting() int { return len(l.queue) + len(l.later) }

// mayReplay: replays take up to half of the attempts under way, so that what is
// detected now does not wait for them.
func (l *lane) mayReplay() bool {
	return len(l.later) > 0 && l.replaying < max(1, l.most()/2)
}

// spare is how long a lane with a rate waits until it may use an attempt for a
// replay: it leaves half of a burst to what is detected now.
func (l *lane) spare(now time.Time) time.Duration {
	if l.limiter == nil || len(l.queue) > 0 {
		return 0
	}
	burst := l.limiter.Burst()
	missing := float64(min(burst, 1+burst/2)) - l.limiter.TokensAt(now)
	if missing <= 0 {
		return 0
	}
	return time.Duration(missing/float64(l.limiter.Limit())*float64(time.Second)) + time.Millisecond
}
