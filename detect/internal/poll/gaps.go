package poll

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Gap is a range of a target that could not be read within the page cap. It converts to
// detect.Gap, which explains the fields.
type Gap struct {
	Target   string    `json:"target"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	FoundAt  time.Time `json:"found_at,omitzero"`
	Resume   string    `json:"resume,omitzero"`
	FilledAt time.Time `json:"filled_at,omitzero"`
}

// MaxGaps bounds the gaps kept for a target; beyond it the oldest two merge.
const MaxGaps = 16

// Reading gaps.
const (
	FillPages = 3           // pages of one fill, so that the account's next poll need not wait long
	fillShare = 16          // every so many polls a fill comes first, when polls leave no pause
	MaxFills  = 5           // fills that may fail in a row before a gap stays open
	fillWait  = time.Minute // after the first of them; then twice as long each time
)

// Unreadable is how many polls in a row fail before an older page that cannot be
// read becomes a gap. Failed commits do not count.
const Unreadable = 8

// GapStats tells of the ranges of targets that could not be read.
type GapStats struct {
	Gaps   int64 // found
	Filled int64 // read later, those among them that an earlier process had found
	// OpenGaps are found and not read yet. A gap that cannot be read any more, such as one
	// from before Horizon, is counted only by the process that found it.
	OpenGaps int64
}

// GapCounters are the GapStats of all polls.
type GapCounters struct{ Gaps, Filled, open atomic.Int64 }

// Stats reads the counters.
func (c *GapCounters) Stats() GapStats {
	return GapStats{c.Gaps.Load(), c.Filled.Load(), c.open.Load()}
}

// giveUpPage ends a poll at an older page that keeps failing, as the page cap would: what
// is on that page and behind it becomes a gap, and the newer pages need not wait for it.
func (m *Machine) giveUpPage(p *Poll) {
	out := &p.Out
	var rl *fetcher.RateLimitError
	t := m.targets.At(p.Slot)
	if m.traits.Resumes && p.Plan.Gap == nil && len(out.Pages) > 0 && t.fails() && t.odd.count >= Unreadable &&
		!errors.As(out.Err, &rl) && !errors.Is(out.Err, m.env.Budget.Stopped()) {
		out.Err, out.Capped = nil, true
	}
}

// noteGaps sets which gap a poll opens, and which ones it has read.
func (m *Machine) noteGaps(p *Poll) {
	out := &p.Out
	switch {
	case p.Plan.Gap != nil:
		m.noteFill(p)
	case out.Capped:
		p.Opened = &Gap{Target: p.Key(), From: p.Plan.Cutoff, To: out.Reach, FoundAt: out.Begun, Resume: out.Next}
		if p.Opened.To.IsZero() || out.Unordered {
			p.Opened.To = out.Begun // what was left out may be of any time
		}
		if !m.traits.Resumes {
			p.Opened.Resume = ""
			if before(p.Opened.To, p.Plan.Cutoff) {
				p.Opened.To = p.Plan.Cutoff
			}
		}
	case !m.traits.Resumes && out.Err == nil && out.Complete && !out.Shallow:
		for _, g := range m.targets.At(p.Slot).Gaps() {
			if !g.From.Before(p.Plan.Cutoff) {
				g.FilledAt = out.Begun
				p.Healed = append(p.Healed, g)
			}
		}
	}
}

// noteFill sets what is left of the gap that a poll has read on from.
func (m *Machine) noteFill(p *Poll) {
	out, gap := &p.Out, *p.Plan.Gap
	to := out.Reach
	switch {
	case out.Complete:
		gap.FilledAt, gap.Resume = m.env.Now(), ""
	case len(out.Pages) > 0 && out.Posts > 0 && out.Next != "" && out.Next != gap.Resume && (to.Before(gap.To) || p.New > 0):
		gap.Resume = out.Next
		if !to.IsZero() && to.Before(gap.To) {
			gap.To = to
		}
	case m.targets.At(p.Slot).tries()+1 >= MaxFills:
		gap.Resume = "" // it stays open
	default:
		return
	}
	p.Closing = &gap
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

// setGaps replaces a target's gaps.
func (m *Machine) setGaps(slot int32, gaps []Gap) {
	t := m.targets.At(slot)
	if len(gaps) == 0 && t.odd == nil {
		return
	}
	o := t.change()
	m.env.Count.open.Add(m.env.open(gaps) - m.env.open(o.gaps))
	o.gaps = gaps
	t.tidy()
}

// open returns how many of gaps count as GapStats.OpenGaps.
func (e *Env) open(gaps []Gap) (n int64) {
	for i := range gaps {
		if gaps[i].Resume != "" || !gaps[i].FoundAt.Before(e.Epoch) {
			n++
		}
	}
	return n
}

// Restore gives a target the gaps that another process left.
func (m *Machine) Restore(slot int32, gaps []Gap) {
	m.setGaps(slot, giveUpBefore(m.env.Oldest(), gaps))
	if m.traits.Resumes && len(gaps) > 0 {
		m.fills.Set(slot, m.env.Clock()+int64(fillWait))
	}
}

// giveUpBefore returns gaps without the Resume of those that end before oldest, so that
// these are not read on. It copies the slice if it changes any.
func giveUpBefore(oldest time.Time, gaps []Gap) []Gap {
	tooOld := func(g Gap) bool { return g.Resume != "" && g.To.Before(oldest) }
	if !slices.ContainsFunc(gaps, tooOld) {
		return gaps
	}
	gaps = slices.Clone(gaps)
	for i := range gaps {
		if tooOld(gaps[i]) {
			gaps[i].Resume = ""
		}
	}
	return gaps
}

// reportGaps calls OnGap and logs, once gaps are recorded.
func (m *Machine) reportGaps(p *Poll) {
	if g := p.Opened; g != nil {
		m.env.Count.Gaps.Add(1)
		m.env.Logger.Warn("gap", "target", g.Target, "from", g.From, "to", g.To)
		m.env.On.Gap(*g)
		if g.Resume != "" {
			m.targets.At(p.Slot).setTries(0) // they were fills of another gap
			m.fills.Set(p.Slot, m.env.Clock())
		}
	}
	if g := p.Closing; g != nil && !g.FilledAt.IsZero() {
		m.env.reportFilled(*g)
	}
	for _, g := range p.Healed {
		m.env.reportFilled(g)
	}
}

func (e *Env) reportFilled(g Gap) {
	e.Count.Filled.Add(1)
	e.Logger.Info("gap read", "target", g.Target, "from", g.From, "to", g.To)
	e.On.Gap(g)
}

// FillTurn reports whether a gap should be read now, and when the next one is due; ok
// is false when there is none. While polls are due, which busy says, only one call
// in fillShare reads a gap.
func (m *Machine) FillTurn(busy bool, now int64) (turn bool, at int64, ok bool) {
	if _, at, ok = m.fills.Next(); !ok {
		return false, 0, false
	}
	return at <= now && (!busy || m.starved >= fillShare), at, true
}

// Starve counts polls that were started instead of reading a gap.
func (m *Machine) Starve(polls int) { m.starved += polls }

// BusyPause is after how long a target that is due is tried again while its gap is
// being read.
const BusyPause = int64(250 * time.Millisecond)

// StartFill starts a poll that reads on in the newest readable gap of the next target
// that has one. It returns nil when that target has to wait, or has none any more.
func (m *Machine) StartFill(busy func(slot int32) bool) *Poll {
	m.starved = 0
	slot, _, _ := m.fills.Next()
	m.fills.Remove(slot)
	now, waits, t := m.env.Clock(), busy(slot), m.targets.At(slot)
	if !waits { // else a poll that is under way may replace the gaps
		m.setGaps(slot, giveUpBefore(m.env.Oldest(), t.Gaps()))
	}
	gaps := t.Gaps()
	for i := len(gaps) - 1; i >= 0; i-- {
		switch {
		case gaps[i].Resume == "":
			continue
		case t.fails(): // it is resting
			m.fills.Set(slot, now+int64(fillWait))
			return nil
		case waits:
			m.fills.Set(slot, now+BusyPause)
			return nil
		}
		gap := gaps[i]
		return m.start(slot, now, m.env.Now(), &gap)
	}
	t.setTries(0)
	return nil
}

// filled schedules the next reading of a target's gaps.
func (m *Machine) filled(p *Poll, err error, now int64) {
	t := m.targets.At(p.Slot)
	switch {
	case err != nil:
	case p.Closing == nil:
		t.setTries(min(t.tries()+1, MaxFills))
	default: // the fill has read something, or the gap is given up
		t.setTries(0)
		if p.Out.Err == nil {
			m.fills.Set(p.Slot, now) // there may be more, or another
			return
		}
	}
	m.fills.Set(p.Slot, now+int64(fillWait<<min(t.tries(), MaxFills)))
}

// ReadUntil returns the time up to which a target was read: since, or the beginning of the
// earliest gap that is still to be read. Gaps that end before oldest do not count.
func ReadUntil(since time.Time, gaps []Gap, oldest time.Time) time.Time {
	for _, g := range gaps {
		if g.Resume != "" && g.From.Before(since) && !g.To.Before(oldest) {
			since = g.From
		}
	}
	return since
}
