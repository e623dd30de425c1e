package poll

import (
	"errors"
	"math"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Trouble reports that the polls of a target keep failing. With a nil Err it reports that they have
// recovered. It converts to detect.Trouble.
type Trouble struct {
	Username, Query string
	Source          deliver.Source
	Err             error
}

// Failures are reported after troubleCount failed polls in a row, if they have lasted for
// troubleAfter.
const (
	troubleCount = 3
	troubleAfter = 10 * time.Minute
)

// longSilence is the longest wait that the upstream may ask for without a log message.
const longSilence = 30 * time.Second

// followTrouble reports when the polls of a target keep failing and when they recover. A target
// that was never read and is refused is reported immediately. Other failures may pass: they are
// only logged until they have lasted.
func (m *Machine) followTrouble(p *Poll) {
	err, t := p.Out.Err, m.targets.At(p.Slot)
	tell := false
	switch {
	case err != nil:
		o := t.failed(p.At, err)
		o.byName = p.Plan.Timeline.UserID != "" && errors.Is(err, fetcher.ErrNotFound)
		atOnce := p.Plan.Since.IsZero() && (lasting(err) || m.traits.Refusable && refused(err))
		tell = o.pollFailed(m.times.Wall, atOnce)
		if o.worthLogging(tell) {
			m.env.Logger.Warn(m.traits.Noun+" fails", m.traits.Key, p.Name, "failures", o.count, "error", err)
		}
	case t.fails():
		if tell = t.odd.reported; tell {
			m.catchUp(t) // the report of the recovery takes back that of the wait, too
		}
		if t.odd.logged {
			m.env.Logger.Info(m.traits.Noun+" recovers", m.traits.Key, p.Name, "failures", t.odd.count)
		}
		t.recovered()
	}
	if !tell {
		return
	}
	for _, r := range m.view(p).Readers {
		m.Tell(p.Name, r.Source.Source, err)
	}
}

// Tell reports to one source that the polls of a target fail. With a nil err it reports that they
// have recovered.
func (m *Machine) Tell(name string, src deliver.Source, err error) {
	trouble := Trouble{Source: src, Err: err, Username: name}
	if m.traits.Kind == Queries {
		trouble.Username, trouble.Query = "", name
	}
	m.env.On.Trouble(trouble)
}

// pollFailed counts a failed poll, and reports whether to notify the subscribers. If atOnce is
// true, it says so at the first failure, otherwise when failures have lasted.
func (o *odd) pollFailed(now time.Time, atOnce bool) (tell bool) {
	if o.count == 0 {
		o.first = now.UnixNano()
	}
	if o.count < math.MaxUint16 {
		o.count++
	}
	if o.reported || !atOnce && (o.count < troubleCount || now.UnixNano()-o.first < int64(troubleAfter)) {
		return false
	}
	o.reported = true
	return true
}

// worthLogging reports whether to log the failures. It returns true once in a row of failures: when
// the subscribers are notified, when several polls have failed, or when the upstream asks for a
// long wait. Rate limits of the whole Fetcher are logged by the budget instead.
func (o *odd) worthLogging(tell bool) bool {
	if o.logged || !tell && o.count < troubleCount && (closesBudget(o.err) || fetcher.RetryAfter(o.err) < longSilence) {
		return false
	}
	o.logged = true
	return true
}

// refused reports whether err says that the request itself is wrong, according to the platform or
// its adapter.
func refused(err error) bool {
	var argument *fetcher.ArgumentError
	if errors.As(err, &argument) {
		return true
	}
	var se *fetcher.StatusError
	return errors.As(err, &se) && se != nil && (se.Code == http.StatusBadRequest || se.Code == http.StatusUnprocessableEntity)
}

// retryWait returns how long a failing target waits for its next poll. The wait grows with each
// failure. It is at least what the upstream asks for, up to budget.MaxClosed.
func (e *Env) retryWait(failures int, err error) time.Duration {
	wait := e.Backoff(failures)
	asked := fetcher.RetryAfter(err)
	if asked > 0 {
		asked = min(asked, budget.MaxClosed)
		wait = max(wait, asked+rand.N(asked/10+1))
	}
	return wait
}

// noteRateLimit closes the poll's bucket if its error is a rate limit that affects more than its
// target. A limit of all calls closes the budget, and thereby every bucket.
func (e *Env) noteRateLimit(p *Poll) {
	err := p.Out.Err
	var rl *fetcher.RateLimitError
	if !errors.As(err, &rl) || rl == nil {
		return
	}
	e.Count.RateLimited.Add(1)
	if closesBudget(err) {
		e.refused(e.Bucket(p.Machine.traits.call(p)), p.Out.called, rl, err)
	}
}

// refused closes the bucket of a call that was made at called, or the budget.
func (e *Env) refused(bucket string, called int64, rl *fetcher.RateLimitError, err error) {
	if rl.All {
		bucket = ""
	}
	e.Budget.Refused(bucket, called, rl.RetryAfter, err.Error())
}

// answered records that a call of a bucket has succeeded, with a rate limit in its answer. If no call
// is left, it closes the bucket.
func (e *Env) answered(bucket func() string, limit fetcher.RateLimit, now time.Time) {
	e.Budget.Works()
	if e.Budget.Buckets.Failing() {
		e.Budget.Buckets.Succeeded(bucket())
	}
	if !limit.Known || limit.Remaining > 0 {
		return
	}
	if wait := limit.Reset.Sub(now); wait > 0 {
		e.Budget.Refused(bucket(), 0, wait, "the answer says that no call is left")
	}
}

// Bucket returns the name of the rate limit that a call counts against, "" for the limit of all
// calls.
func (e *Env) Bucket(c fetcher.Call) string {
	if e.Roles.Buckets == nil {
		return ""
	}
	return e.Roles.Buckets.Bucket(c)
}

// closesBudget reports whether an error is a rate limit of all calls, not of one account or
// query.
func closesBudget(err error) bool {
	var rl *fetcher.RateLimitError
	return errors.As(err, &rl) && rl != nil && !rl.Target
}

// Backoff returns the wait after the n-th consecutive failure, n from 1. The wait doubles between
// MinBackoff and MaxBackoff, with ±20 % of jitter. Backoff is a formula, because a backoff object
// for each account would need too much memory.
func (r Rest) Backoff(n int) time.Duration {
	wait := r.MaxBackoff
	if shift := n - 1; shift < 32 && r.MinBackoff<<shift > 0 && r.MinBackoff<<shift < r.MaxBackoff {
		wait = r.MinBackoff << shift
	}
	return wait - wait/5 + rand.N(2*wait/5+1)
}
