package dispatch

import (
	"context"
	"fmt"
	"github.com/streamwatch/streamwatch/deliver"
	"net/url"
	"time"
)

// job is what a worker does for a lane: it reads the endpoint, ends deliveries
// that are not to be sent, or makes one attempt.
type job struct {
	kind    jobKind
	lane    *lane
	class   class   // whose share of the workers it takes
	items   []*item // all that were queued, or the one to attempt
	refusal string
	dv      deliver.Delivery // what is sent
	sender  deliver.Sender
	scheme  string
	began   time.Time
}

type jobKind uint8

const (
	jobRead jobKind = iota
	jobRefuse
	jobAttempt
)

// next finds the next job, false when there is none. What it decides is in the
// same critical section as EndpointManager's word that an endpoint is changed or
// gone: an attempt has begun before that, or it does not begin.
func (d *Dispatcher) next(j *job) bool {
	now := time.Now()
	for !d.closed {
		l := d.turns.next(d.cfg.Workers)
		if l == nil {
			return false
		}
		*j = job{lane: l, class: l.class()}
		switch {
		case !l.fresh(now):
			l.loading = true
			j.kind = jobRead
		case l.gone || l.refusal != "":
			j.kind, j.items, j.refusal = jobRefuse, append(l.queue, l.later...), l.refusal
			l.queue, l.later = nil, nil
		case d.delayed(l, now):
			continue
		default:
			if !d.begin(l, j) {
				continue
			}
		}
		d.turns.under[j.class]++
		d.stats.InFlight++
		d.offer(l)
		if l.full && len(l.queue) <= d.capacity(l)/2 {
			d.reader.ring()
		}
		return true
	}
	return false
}

// delayed has a lane wait that may not start anything yet.
func (d *Dispatcher) delayed(l *lane, now time.Time) bool {
	if wait := l.spare(now); wait > 0 {
		d.turns.leave(l)
		d.wakeLane(l, wait)
		return true
	}
	if l.limiter != nil && !now.Before(l.until) {
		r := l.limiter.ReserveN(now, 1)
		if wait := r.DelayFrom(now); wait > 0 {
			r.CancelAt(now)
			l.until = now.Add(wait)
		}
	}
	if now.Before(l.until) {
		d.offer(l)
		return true
	}
	return false
}

// begin takes the lane's next delivery whose claim lasts long enough. Those
// whose claim does not are let go: another process may have claimed them by the
// time the attempt ends, and the outbox still has them.
func (d *Dispatcher) begin(l *lane, j *job) bool {
	now := d.cfg.Now()
	for len(l.queue) > 0 || l.mayReplay() {
		it := l.pop()
		if !d.lasts(it.Due, now) {
			delete(d.held, it.ID)
			d.reader.wakeAt(it.Due)
			continue
		}
		it.sending = true
		l.inFlight++
		if it.replayed {
			l.replaying++
		}
		j.kind, j.items = jobAttempt, []*item{it}
		j.dv, j.dv.Endpoint = it.Delivery, l.endpoint
		j.sender, j.scheme, j.began = l.sender, l.scheme, now
		return true
	}
	return false
}

// work does jobs until there is none.
func (d *Dispatcher) work(ctx context.Context, j *job) {
	for more := true; more; {
		switch j.kind {
		case jobRead:
			d.readEndpoint(ctx, j.lane)
		case jobRefuse:
			for _, it := range j.items {
				d.settler.ended.Add(1)
				d.settler.put(settled{it, d.refused(it, j.refusal)})
			}
		case jobAttempt:
			d.attempt(ctx, j)
		}
		d.mu.Lock()
		if j.kind == jobAttempt {
			j.lane.inFlight--
			if j.items[0].replayed {
				j.lane.replaying--
				d.replayer.ring()
			}
		}
		d.turns.under[j.class]--
		d.stats.InFlight--
		d.offer(j.lane)
		if more = d.next(j); more {
			d.pump()
		}
		d.mu.Unlock()
	}
}

// attempt makes one try of a delivery and hands the outcome to the settler.
func (d *Dispatcher) attempt(ctx context.Context, j *job) {
	it := j.items[0]
	res, timedOut := deliver.Result{Error: fmt.Sprintf("no sender for scheme %q", j.scheme)}, false
	if j.sender != nil {
		actx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
		res = send(actx, j.sender, &j.dv)
		timedOut = !res.OK && (actx.Err() != nil || res.Error == deliver.TimeoutError)
		cancel()
	}
	d.settler.ended.Add(1)
	if ctx.Err() != nil && !res.OK {
		// Cut by the shutdown: that says nothing about the receiver.
		d.settler.put(settled{it, deliver.Settlement{DeliveryID: it.ID, Due: d.cfg.Now()}})
		return
	}
	d.settler.put(settled{it, d.outcome(j, &res, timedOut)})
}

func send(ctx context.Context, s deliver.Sender, dv *deliver.Delivery) (r deliver.Result) {
	defer func() {
		if v := recover(); v != nil {
			r = deliver.Result{Error: fmt.Sprintf("sender panicked: %v", v)}
		}
	}()
	return s.Send(ctx, dv)
}

func (d *Dispatcher) sender(rawURL string) (deliver.Sender, string) {
	u, err := url.Parse(rawURL)
	if err != nil {
		return nil, ""
	}
	return d.cfg.Senders[u.Scheme], u.Scheme
}
