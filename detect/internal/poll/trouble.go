package poll

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/fetcher"
)

// Trouble is a target whose polls keep failing, or with a nil Err has recovered. It converts
// to detect.Trouble.
type Trouble struct {
	Username, Query string
	Source          deliver.Source
	Err             error
}

// trouble is what is kept of a target while its polls or commits fail.
type trouble struct {
	failures int       // polls and commits that failed in a row
	due      time.Time // when the first of them was due
	count    int       // polls that failed in a row
	first    time.Time // when the first of these failed
	err      error     // the last one
	byName   bool      // it was not found by its id: the next poll asks by the name alone
	reported bool      // by OnTrouble
	logged   bool
}

// Failures are reported after so many in a row, over so long.
const (
	troubleCount = 3
	troubleAfter = 10 * time.Minute
)

// longSilence is the longest rest that need not be logged.
const longSilence = 30 * time.Second

// trouble returns the record of a target's failures, a new one if this poll is the
// first that fails.
func (m *Machine) trouble(p *Poll) *trouble {
	tr := m.troubles[p.Slot]
	if tr == nil {
		tr = &trouble{due: p.At}
		m.troubles[p.Slot] = tr
	}
	return tr
}

// Failures is how many polls and commits of a target failed in a row.
func (m *Machine) Failures(slot int32) int {
	if tr := m.troubles[slot]; tr != nil {
		return tr.failures
	}
	return 0
}

// Trouble returns the last error of a target that fails, nil for one that does not,
// and whether it was reported to the subscribers.
func (m *Machine) Trouble(slot int32) (err error, told bool) {
	if tr := m.troubles[slot]; tr != nil {
		return tr.err, tr.reported
	}
	return nil, false
}

// followTrouble reports a target whose polls keep failing, and its recovery. A target
// that never answered and is refused is reported at once; any other failure may pass,
// and is only logged until it has lasted.
func (m *Machine) followTrouble(p *Poll) {
	err, tr := p.Out.Err, m.troubles[p.Slot]
	tell := false
	switch {
	case err != nil:
		tr = m.trouble(p)
		tr.byName = p.Plan.Timeline.UserID != "" && errors.Is(err, fetcher.ErrNotFound)
		atOnce := m.targets.Since(p.Slot).IsZero() && (lasting(err) || m.traits.Refusable && refused(err))
		tell = tr.pollFailed(m.times.Wall, err, atOnce)
		if tr.worthLogging(tell) {
			m.env.Logger.Warn(m.traits.Noun+" fails", m.traits.Key, p.Name, "failures", tr.count, "error", err)
		}
	case tr != nil:
		tell = tr.reported
		if tr.logged {
			m.env.Logger.Info(m.traits.Noun+" recovers", m.traits.Key, p.Name, "failures", tr.count)
		}
		delete(m.troubles, p.Slot)
	}
	if tell {
		m.targets.Tell(p.Slot, err)
	}
}

// commitFailed counts a failed commit, and returns how many failures that makes.
func (tr *trouble) commitFailed(err error) int {
	tr.failures++
	tr.err = err
	return tr.failures
}

// pollFailed counts a failed poll, and reports whether to tell the subscribers: at
// once, or when failures have lasted.
func (tr *trouble) pollFailed(now time.Time, err error, atOnce bool) (tell bool) {
	tr.failures++
	if tr.count == 0 {
		tr.first = now
	}
	tr.count++
	tr.err = err
	if tr.reported || !atOnce && (tr.count < troubleCount || now.Sub(tr.first) < troubleAfter) {
		return false
	}
	tr.reported = true
	return true
}

// worthLogging reports whether to log the failures, true once while they go on: when
// the subscribers are told, when several polls have failed, or when the upstream asks
// for a long wait. A rate limit of the whole Fetcher is logged by the budget.
func (tr *trouble) worthLogging(tell bool) bool {
	if tr.logged || !tell && tr.count < troubleCount && (closesBudget(tr.err) || fetcher.RetryAfter(tr.err) < longSilence) {
		return false
	}
	tr.logged = true
	return true
}

// refused reports whether the platform, or its adapter, says that the request itself is
// wrong.
func refused(err error) bool {
	var argument *fetcher.ArgumentError
	if errors.As(err, &argument) {
		return true
	}
	var se *fetcher.StatusError
	return errors.As(err, &se) && se != nil && (se.Code == http.StatusBadRequest || se.Code == http.StatusUnprocessableEntity)
}

// retryWait returns how long a failing target rests: longer after each failure, and at
// least as long as the upstream asks, as far as budget.MaxClosed.
func (e *Env) retryWait(failures int, err error) time.Duration {
	wait := e.Backoff(failures)
	asked := fetcher.RetryAfter(err)
	if asked > 0 {
		asked = min(asked, budget.MaxClosed)
		wait = max(wait, asked+rand.N(asked/10+1))
	}
	return wait
}

// noteRateLimit closes the poll's bucket if its error is a rate limit of more than its target.
// A limit of all calls closes the budget, and with it every bucket.
func (e *Env) noteRateLimit(p *Poll, failures int) {
	err := p.Out.Err
	var rl *fetcher.RateLimitError
	if !errors.As(err, &rl) || rl == nil {
		return
	}
	e.Count.RateLimited.Add(1)
	if !closesBudget(err) {
		return
	}
	wait := rl.RetryAfter
	if wait <= 0 {
		wait = e.Backoff(failures + 1)
	}
	if rl.All {
		e.Budget.CloseFor(wait, err.Error())
		return
	}
	e.close(p, wait, err.Error())
}

// close closes the bucket that a poll's calls count against, or the budget if they have none.
func (e *Env) close(p *Poll, wait time.Duration, why string) {
	name := e.Bucket(p.Machine.traits.call(p))
	if name != "" {
		e.Budget.Buckets.CloseFor(name, wait, why)
	} else {
		e.Budget.CloseFor(wait, why)
	}
}

// Bucket names the limit that a call counts against, "" for that of all calls.
func (e *Env) Bucket(c fetcher.Call) string {
	if e.Roles.Buckets == nil {
		return ""
	}
	return e.Roles.Buckets.Bucket(c)
}

// closesBudget reports whether an error is a limit of all calls, and not of one
// account or query.
func closesBudget(err error) bool {
	var rl *fetcher.RateLimitError
	return errors.As(err, &rl) && rl != nil && !rl.Target
}

// Backoff returns the wait after the n-th failure in a row, n from 1: doubling
// between the bounds, with ±20 % of jitter. It is a formula because a backoff object
// for each account would take too much memory.
func (e *Env) Backoff(n int) time.Duration {
	wait := e.MaxBackoff
	if shift := n - 1; shift < 32 && e.MinBackoff<<shift > 0 && e.MinBackoff<<shift < e.MaxBackoff {
		wait = e.MinBackoff << shift
	}
	return wait - wait/5 + rand.N(2*wait/5+1)
}
