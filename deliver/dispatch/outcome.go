package dispatch

import (
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// tooManyWait is how long a lane waits after a 429 that does not say.
const tooManyWait = time.Minute

// outcome turns an attempt's result into its settlement, and has the lane draw
// its conclusions.
func (d *Dispatcher) outcome(j *job, res *deliver.Result, timedOut bool) deliver.Settlement {
	it, l, end := j.items[0], j.lane, d.cfg.Now()
	res.Bound()
	s := deliver.Settlement{DeliveryID: it.ID, State: deliver.StateDelivered, Attempt: &deliver.Attempt{
		N: it.Attempts + 1, At: j.began, Duration: max(0, end.Sub(j.began)),
		StatusCode: res.StatusCode, Error: res.Error, ResponsePreview: res.ResponsePreview,
	}}
	d.timing.record(it, s.Attempt, res.OK)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Attempts++
	own, wait := granted(it.Waited, res)
	if own > 0 {
		s.Attempt.Error = invalid.Cut(s.Attempt.Error, deliver.MaxErrorText-64) + ", asked to wait " + res.RetryAfter.String()
	} else {
		wait = d.asked(it, res)
	}
	if !l.handler {
		wait = d.judge(l, j.began, res, own > 0, wait)
	}
	l.slow = timedOut || s.Attempt.Duration >= d.cfg.Timeout/slowShare
	if l.hung, l.answered = timedOut, l.answered || !timedOut; timedOut {
		l.cautious = true
		d.trim(l, hungQueue)
	} else if res.OK {
		l.cautious = false
	}
	switch {
	case res.OK:
		s.Attempt.Error = ""
		d.stats.Delivered++
	case own > 0:
		s.State = deliver.StateRetrying
		s.Due, s.Wait = end.Add(own), own
		d.stats.Retried++
	case res.Permanent || it.tried() >= len(d.cfg.RetrySchedule):
		s.State = deliver.StateFailed
		d.stats.Failed++
	default:
		s.State = deliver.StateRetrying
		s.Due = end.Add(max(wait, retryDelay(d.cfg.RetrySchedule[it.tried()], res.RetryAfter)))
		d.stats.Retried++
	}
	if wait > 0 {
		l.cautious = true
		d.pause(l, wait)
	}
	return s
}

// judge gives the attempt to the endpoint's breaker and to its health, and says
// how long the lane has to wait now. A receiver whose wait is granted has not
// failed: the breaker does not count the attempt.
func (d *Dispatcher) judge(l *lane, began time.Time, res *deliver.Result, waits bool, asked time.Duration) time.Duration {
	var wait time.Duration
	if !waits {
		if wait = l.breaker.record(time.Now(), res.OK); wait > 0 {
			d.stats.Opened++
		}
	}
	d.keeper.want(l, l.health.record(began, res, waits), d.cfg.Now())
	return max(wait, asked)
}

// asked is how long the whole endpoint is left alone after an attempt that
// counts, because the receiver wants it. What it says is bounded as for the
// delivery itself: see retryDelay.
func (d *Dispatcher) asked(it *item, res *deliver.Result) time.Duration {
	tooMany := res.StatusCode == http.StatusTooManyRequests
	if res.OK || !tooMany && res.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	if res.RetryAfter <= 0 {
		if tooMany {
			return tooManyWait
		}
		return 0
	}
	base := tooManyWait
	if n := len(d.cfg.RetrySchedule); n > 0 {
		base = d.cfg.RetrySchedule[min(it.tried(), n-1)]
	}
	return min(res.RetryAfter, 2*base)
}

// refused is the settlement of a delivery that is not sent at all: without a
// reason its endpoint is gone, which is no attempt.
func (d *Dispatcher) refused(it *item, why string) deliver.Settlement {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stats.Failed++
	if why == "" {
		return deliver.Settlement{DeliveryID: it.ID, EndpointDeleted: true}
	}
	return deliver.Settlement{DeliveryID: it.ID, State: deliver.StateFailed, Attempt: &deliver.Attempt{N: it.Attempts + 1, At: d.cfg.Now(), Error: why}}
}
