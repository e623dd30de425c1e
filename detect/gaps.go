package detect

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Reading gaps.
const (
	fillPages = 3           // pages of one fill, so that the account's next poll need not wait long
	fillShare = 16          // every so many polls a fill comes first, when polls leave no pause
	maxFills  = 5           // fills that may fail in a row before a gap stays open
	fillWait  = time.Minute // after the first of them; then twice as long each time
)

// unreadable is how many polls in a row may fail before an older page that
// can not be read counts as a gap. Failed commits are not the page's.
const unreadable = 8

// giveUpPage makes a gap of what an older page hides that keeps failing: the
// newer pages must not wait for it for ever.
func (sh *shard) giveUpPage(f *flight) {
	out := &f.out
	var rl *fetcher.RateLimitError
	tr := sh.troubles[f.slot]
	if f.plan.gap == nil && len(out.pages) > 0 && tr != nil && tr.count >= unreadable &&
		!errors.As(out.err, &rl) && !errors.Is(out.err, ErrStopped) {
		out.err, out.capped = nil, true
	}
}

// noteGaps says which gap a poll leaves, or what has become of the one it has
// read on from.
func (sh *shard) noteGaps(f *flight) {
	out := &f.out
	to := out.reach
	if f.plan.gap == nil {
		if !out.capped {
			return
		}
		if to.IsZero() {
			to = out.begun
		}
		f.opened = &Gap{Target: targetKey(f.plan.query.Username), From: out.cutoff, To: to, FoundAt: out.begun, Resume: out.next}
		return
	}
	gap := *f.plan.gap
	switch {
	case out.complete:
		gap.FilledAt, gap.Resume = sh.d.cfg.Now(), ""
	case len(out.pages) > 0 && out.posts > 0 && out.next != "" && out.next != gap.Resume && (to.Before(gap.To) || len(f.newIDs) > 0):
		gap.Resume = out.next
		if !to.IsZero() && to.Before(gap.To) {
			gap.To = to
		}
	case sh.fillTries[f.slot]+1 >= maxFills:
		gap.Resume = "" // it stays open
	default:
		return
	}
	f.closing = &gap
}

// mergedGaps are a target's gaps after the poll.
func (f *flight) mergedGaps(gaps []Gap) []Gap {
	if f.opened != nil {
		return addGap(gaps, *f.opened)
	}
	if f.closing == nil {
		return gaps
	}
	var out []Gap
	for _, g := range gaps {
		if g != *f.plan.gap {
			out = append(out, g)
		} else if f.closing.FilledAt.IsZero() {
			out = append(out, *f.closing)
		}
	}
	return out
}

// addGap appends to a copy; when there are too many, the oldest two become one
// range that covers both.
func addGap(gaps []Gap, g Gap) []Gap {
	out := append(append(make([]Gap, 0, len(gaps)+1), gaps...), g)
	if len(out) > MaxGaps {
		if out[0].From.Before(out[1].From) {
			out[1].From = out[0].From
		}
		if out[0].To.After(out[1].To) {
			out[1].To, out[1].Resume = out[0].To, out[0].Resume
		}
		out = out[1:]
	}
	return out
}

func (sh *shard) setGaps(slot int32, gaps []Gap) {
	if len(gaps) == 0 {
		delete(sh.gaps, slot)
		return
	}
	sh.gaps[slot] = gaps
}

// reportGaps tells of gaps once they are recorded.
func (sh *shard) reportGaps(f *flight) {
	switch {
	case f.opened != nil:
		sh.d.count.gaps.Add(1)
		sh.d.cfg.Logger.Warn("gap", "target", f.opened.Target, "from", f.opened.From, "to", f.opened.To)
		sh.d.cfg.OnGap(*f.opened)
		if f.opened.Resume != "" {
			sh.fills.Set(f.slot, sh.d.clock())
		}
	case f.closing != nil && !f.closing.FilledAt.IsZero():
		sh.d.count.filled.Add(1)
		filled := *f.closing
		sh.d.cfg.Logger.Info("gap read", "target", filled.Target, "from", filled.From, "to", filled.To)
		sh.d.cfg.OnGap(filled)
	}
}

// fillTurn reports whether a gap should be read now, and when the next one
// should otherwise. Polls that are due go first, most of the time.
func (sh *shard) fillTurn(busy bool, now int64) (turn bool, at int64) {
	_, at, ok := sh.fills.Next()
	if !ok {
		return false, never
	}
	return at <= now && (!busy || sh.starved >= fillShare), at
}

// startFill reads on where a poll had to stop: in the newest gap that has not
// been given up.
func (sh *shard) startFill(ctx context.Context) {
	sh.starved = 0
	slot, _, _ := sh.fills.Next()
	sh.fills.Remove(slot)
	oldest := sh.d.cfg.Now().Add(-sh.d.cfg.Horizon)
	gaps := sh.gaps[slot]
	for i := len(gaps) - 1; i >= 0; i-- {
		if gaps[i].Resume == "" || gaps[i].To.Before(oldest) {
			continue
		}
		if sh.troubles[slot] != nil { // it is resting
			sh.fills.Set(slot, sh.d.clock()+int64(fillWait))
			return
		}
		if sh.targets.at(slot).state != idle {
			sh.fills.Set(slot, sh.d.clock()+busyPause)
			return
		}
		sh.depart(job{ctx: ctx, one: sh.newFill(slot, gaps[i])})
		return
	}
	delete(sh.fillTries, slot)
}

// filled plans the next reading of a target's gaps.
func (sh *shard) filled(f *flight, err error, now int64) {
	if err == nil && f.out.err == nil && f.closing != nil {
		delete(sh.fillTries, f.slot)
		sh.fills.Set(f.slot, now) // there may be more, or another
		return
	}
	if err == nil {
		sh.fillTries[f.slot]++
	}
	sh.fills.Set(f.slot, now+int64(fillWait<<min(sh.fillTries[f.slot], maxFills)))
}
