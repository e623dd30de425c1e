package detect

import (
	"errors"
	"math/rand/v2"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// trouble gives the record of a target's failures; this poll is the first of
// them if there is none.
func (sh *shard) trouble(f *flight) *trouble {
	tr := sh.troubles[f.slot]
	if tr == nil {
		tr = &trouble{due: f.at}
		sh.troubles[f.slot] = tr
	}
	return tr
}

// followTrouble reports an account whose polls keep failing, and its recovery.
// A misspelt name is reported at once; anything else may pass, and is only
// logged until it has lasted.
func (sh *shard) followTrouble(f *flight) {
	t, err := sh.targets.at(f.slot), f.out.err
	if err == nil {
		tr := sh.troubles[f.slot]
		if tr == nil {
			return
		}
		if tr.logged {
			sh.d.cfg.Logger.Info("account recovers", "username", f.plan.query.Username, "failures", tr.count)
		}
		if tr.reported {
			sh.eachSub(f.slot, func(s subscriber) { sh.report(f.slot, nil, s) })
		}
		delete(sh.troubles, f.slot)
		return
	}
	tr := sh.trouble(f)
	tell := tr.failed(sh.d.cfg.Now(), err, t.since == 0 && lasting(err))
	if tr.worthLogging(tell) {
		sh.d.cfg.Logger.Warn("account fails", "username", f.plan.query.Username, "failures", tr.count, "error", err)
	}
	if !tell {
		return
	}
	sh.eachSub(f.slot, func(s subscriber) { sh.report(f.slot, err, s) })
}

// failed notes one more failure, and reports whether it is time to tell: for one
// that will not pass at once, else when it has lasted.
func (tr *trouble) failed(now time.Time, err error, lasting bool) (tell bool) {
	tr.failures++
	if tr.count == 0 {
		tr.first = now
	}
	tr.count++
	tr.err = err
	if tr.reported || !lasting && (tr.count < troubleCount || now.Sub(tr.first) < troubleAfter) {
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

// longSilence is how long a target may rest without a line in the log.
const longSilence = 30 * time.Second

// fails gives the record of a query's failures; this poll is the first of them
// if there is none.
func (q *watchedQuery) fails(f *search) *trouble {
	if q.trouble == nil {
		q.trouble = &trouble{due: f.at}
	}
	return q.trouble
}

func (q *watchedQuery) failures() int {
	if q.trouble == nil {
		return 0
	}
	return q.trouble.failures
}

// followSearch reports a query whose polls keep failing, and its recovery: at
// once one that the platform refused from the beginning.
func (sh *shard) followSearch(f *search) {
	q, err := f.q, f.out.err
	tell := false
	switch {
	case err != nil:
		tr := q.fails(f)
		tell = tr.failed(sh.d.cfg.Now(), err, q.since.IsZero() && (lasting(err) || refused(err)))
		if tr.worthLogging(tell) {
			sh.d.cfg.Logger.Warn("query fails", "query", q.text, "failures", tr.count, "error", err)
		}
	case q.trouble != nil:
		tell = q.trouble.reported
		if q.trouble.logged {
			sh.d.cfg.Logger.Info("query recovers", "query", q.text, "failures", q.trouble.count)
		}
		q.trouble = nil
	}
	if tell {
		for i := range q.subs {
			sh.d.cfg.OnTrouble(Trouble{Query: q.text, Source: q.subs[i].Source, Err: err})
		}
	}
}

// refused reports whether the platform says that the query itself is wrong.
func refused(err error) bool {
	var se *fetcher.StatusError
	return errors.As(err, &se) && se != nil && (se.Code == http.StatusBadRequest || se.Code == http.StatusUnprocessableEntity)
}

func (sh *shard) report(slot int32, err error, s subscriber) {
	sh.d.cfg.OnTrouble(Trouble{Username: sh.username(slot), Source: sh.wants[s.want].source.Source, Err: err})
}

// retryWait is how long a failing target rests: as long as the upstream asked,
// never less, and otherwise ever longer.
func (d *Detector) retryWait(failures int, err error) time.Duration {
	wait := d.backoff(failures)
	asked := askedWait(err)
	if asked > 0 {
		asked = min(asked, maxClosed)
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

func (sh *shard) failures(slot int32) int {
	if tr := sh.troubles[slot]; tr != nil {
		return tr.failures
	}
	return 0
}

// noteRateLimit closes the budget when the whole Fetcher is over its limit.
func (d *Detector) noteRateLimit(failures int, err error) {
	var rl *fetcher.RateLimitError
	if !errors.As(err, &rl) || rl == nil {
		return
	}
	d.count.rateLimited.Add(1)
	if !closesBudget(err) {
		return
	}
	wait := rl.RetryAfter
	if wait <= 0 {
		wait = d.backoff(failures + 1)
	}
	d.budget.closeFor(wait, err.Error())
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
func (d *Detector) backoff(n int) time.Duration {
	wait := d.cfg.MaxBackoff
	if shift := n - 1; shift < 32 && d.cfg.MinBackoff<<shift > 0 && d.cfg.MinBackoff<<shift < wait {
		wait = d.cfg.MinBackoff << shift
	}
	return jitter(wait)
}

// jitter spreads d by ±20 %.
func jitter(d time.Duration) time.Duration {
	return d - d/5 + rand.N(2*d/5+1)
}
