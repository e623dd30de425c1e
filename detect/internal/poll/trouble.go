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

// Trouble is a target whose polls keep failing, or with a nil Err has recovered: see
// detect.Trouble, of which it is the form.
type Trouble struct {
	Username, Query string
	Source          deliver.Source
	Err             error
}

// trouble follows the failures of a target's polls, while there are any.
type trouble struct {
	failures int       // polls and commits that failed in a row
	due      time.Time // when the first of them was due
	count    int       // polls that failed in a row
	first    time.Time
	err      error
	reported bool // to whose they are
	logged   bool
}

// Errors are reported when they came this often, over this long.
const (
	troubleCount = 3
	troubleAfter = 10 * time.Minute
)

// longSilence is how long a target may rest without a line in the log.
const longSilence = 30 * time.Second

// trouble gives the record of a target's failures; this poll is the first of
// them if there is none.
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

// Trouble is the last failure of a target that fails, nil of one that does not,
// and whether its subscribers have been told.
func (m *Machine) Trouble(slot int32) (err error, told bool) {
	if tr := m.troubles[slot]; tr != nil {
		return tr.err, tr.reported
	}
	return nil, false
}

// followTrouble reports a target whose polls keep failing, and its recovery. One
// that never answered and is refused is reported at once; anything else may
// pass, and is only logged until it has lasted.
func (m *Machine) followTrouble(p *Poll) {
	err, tr := p.Out.Err, m.troubles[p.Slot]
	tell := false
	switch {
	case err != nil:
		tr = m.trouble(p)
		atOnce := m.targets.Since(p.Slot).IsZero() && (lasting(err) || m.traits.Refusable && refused(err))
		tell = tr.pollFailed(m.env.Now(), err, atOnce)
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

// commitFailed notes that what a poll brought could not be committed, and gives
// how many failures that makes.
func (tr *trouble) commitFailed(err error) int {
	tr.failures++
	tr.err = err
	return tr.failures
}

// pollFailed notes one more failure, and reports whether it is time to tell: for
// one that will not pass at once, else when it has lasted.
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

// worthLogging reports, once for as long as failures go on, whether the log should
// tell of them: when the monitors are told, when several polls have failed, or
// when the upstream asked for a wait that leaves a long silence. A limit of the
// whole Fetcher is the budget's to tell.
func (tr *trouble) worthLogging(tell bool) bool {
	if tr.logged || !tell && tr.count < troubleCount && (closesBudget(tr.err) || askedWait(tr.err) < longSilence) {
		return false
	}
	tr.logged = true
	return true
}

// refused reports whether the platform says that the request itself is wrong.
func refused(err error) bool {
	var se *fetcher.StatusError
	return errors.As(err, &se) && se != nil && (se.Code == http.StatusBadRequest || se.Code == http.StatusUnprocessableEntity)
}

// retryWait is how long a failing target rests: as long as the upstream asked,
// never less, and otherwise ever longer.
func (e *Env) retryWait(failures int, err error) time.Duration {
	wait := e.backoff(failures)
	asked := askedWait(err)
	if asked > 0 {
		asked = min(asked, budget.MaxClosed)
		wait = max(wait, asked+rand.N(asked/10+1))
	}
	return wait
}

// askedWait is how long an error says to wait, 0 when it does not say.
func askedWait(err error) time.Duration {
	var rl *fetcher.RateLimitError
	var se *fetcher.StatusError
	switch {
	case errors.As(err, &rl) && rl != nil:
		return rl.RetryAfter
	case errors.As(err, &se) && se != nil:
		return se.RetryAfter
	}
	return 0
}

// noteRateLimit closes the budget when the whole Fetcher is over its limit.
func (e *Env) noteRateLimit(failures int, err error) {
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
		wait = e.backoff(failures + 1)
	}
	e.Budget.CloseFor(wait, err.Error())
}

// closesBudget reports whether an error is a limit of all calls, and not of one
// account or query.
func closesBudget(err error) bool {
	var rl *fetcher.RateLimitError
	return errors.As(err, &rl) && rl != nil && !rl.Target
}

// backoff is the wait after the n-th failure in a row, n from 1: doubling
// between the bounds, with ±20 % of jitter. It is a formula rather than an
// object because there is one for each account.
func (e *Env) backoff(n int) time.Duration {
	wait := e.MaxBackoff
	if shift := n - 1; shift < 32 && e.MinBackoff<<shift > 0 && e.MinBackoff<<shift < wait {
		wait = e.MinBackoff << shift
	}
	return wait - wait/5 + rand.N(2*wait/5+1)
}
