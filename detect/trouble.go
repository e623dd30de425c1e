package detect

import (
	"errors"
	"math/rand/v2"
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
		if tr.count >= troubleCount {
			sh.d.cfg.Logger.Info("account recovers", "username", f.plan.query.Username, "failures", tr.count)
		}
		if tr.reported {
			sh.eachSub(f.slot, func(s subscriber) { sh.report(f.slot, nil, s) })
		}
		delete(sh.troubles, f.slot)
		return
	}
	now := sh.d.cfg.Now()
	tr := sh.trouble(f)
	tr.failures++
	if tr.count == 0 {
		tr.first = now
	}
	tr.count++
	tr.err = err
	if tr.count == troubleCount {
		sh.d.cfg.Logger.Warn("account fails", "username", f.plan.query.Username, "failures", tr.count, "error", err)
	}
	misspelt := t.since == 0 && lasting(err)
	if tr.reported || !misspelt && (tr.count < troubleCount || now.Sub(tr.first) < troubleAfter) {
		return
	}
	tr.reported = true
	sh.eachSub(f.slot, func(s subscriber) { sh.report(f.slot, err, s) })
}

func (sh *shard) report(slot int32, err error, s subscriber) {
	sh.d.cfg.OnTrouble(Trouble{Username: sh.username(slot), Source: sh.wants[s.want].source.Source, Err: err})
}

// retryWait is how long a failing target rests: as long as the upstream asked,
// never less, and otherwise ever longer.
func (sh *shard) retryWait(slot int32, err error) time.Duration {
	wait := sh.d.backoff(sh.failures(slot))
	var asked time.Duration
	var rl *fetcher.RateLimitError
	var se *fetcher.StatusError
	switch {
	case errors.As(err, &rl) && rl != nil:
		asked = rl.RetryAfter
	case errors.As(err, &se) && se != nil:
		asked = se.RetryAfter
	}
	if asked > 0 {
		asked = min(asked, maxClosed)
		wait = max(wait, asked+rand.N(asked/10+1))
	}
	return wait
}

func (sh *shard) failures(slot int32) int {
	if tr := sh.troubles[slot]; tr != nil {
		return tr.failures
	}
	return 0
}

// noteRateLimit closes the budget when the whole Fetcher is over its limit.
func (sh *shard) noteRateLimit(slot int32, err error) {
	var rl *fetcher.RateLimitError
	if !errors.As(err, &rl) || rl == nil {
		return
	}
	sh.d.count.rateLimited.Add(1)
	if rl.Target {
		return
	}
	wait := rl.RetryAfter
	if wait <= 0 {
		wait = sh.d.backoff(sh.failures(slot) + 1)
	}
	sh.d.budget.closeFor(wait)
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
