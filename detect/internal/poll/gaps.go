package poll

import (
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Gap is a range of a target that could not be read within the page cap. It converts to detect.Gap.
// The fields are documented there.
type Gap struct {
	Target   string    `json:"target"`
	From     time.Time `json:"from,omitzero"`
	To       time.Time `json:"to,omitzero"`
	FoundAt  time.Time `json:"found_at,omitzero"`
	Resume   string    `json:"resume,omitzero"`
	FilledAt time.Time `json:"filled_at,omitzero"`
}

// MaxGaps is the highest number of gaps of a target. Beyond it the oldest two are merged.
const MaxGaps = 16

// Settings for fills, the polls that read gaps.
const (
	FillPages = 3           // pages of one fill; low, because the account's next poll waits for the fill
	fillShare = 16          // when polls leave no pause, one fill is made per fillShare polls
	MaxFills  = 5           // fills that may fail in a row before the gap is given up and stays open
	fillWait  = time.Minute // wait after the first failed fill; it doubles with each further one
)

// Unreadable is how many polls in a row must fail at an older page before that page becomes a gap.
// Failed commits do not count.
const Unreadable = 8

// GapStats counts the ranges of targets that could not be read.
type GapStats struct {
	Gaps   int64 // gaps found
	Filled int64 // read later, including gaps found by an earlier process
	// OpenGaps counts gaps that were found and not read yet. Some gaps cannot be read any more,
	// such as those from before Horizon. Only the process that found such a gap counts it.
	OpenGaps int64
}

// GapCounters counts the gaps of all polls.
type GapCounters struct{ Gaps, Filled, open atomic.Int64 }

// Stats returns the present counters.
func (c *GapCounters) Stats() GapStats {
	return GapStats{c.Gaps.Load(), c.Filled.Load(), c.open.Load()}
}

// giveUpPage ends a poll at an older page that keeps failing, as the page cap would. That page and
// those behind it become a gap. The newer pages can then be committed.
func (m *Machine) giveUpPage(p *Poll) {
	out := &p.Out
	var rl *fetcher.RateLimitError
	t := m.targets.At(p.Slot)
	if m.traits.Resumes && p.Plan.Gap == nil && len(out.Pages) > 0 && t.fails() && t.odd.count >= Unreadable &&
		!errors.As(out.Err, &rl) && !errors.Is(out.Err, m.env.Budget.Stopped()) {
		out.Err, out.Capped = nil, true
	}
}

// noteGaps sets the gap that a poll opens, and the gaps that it has read.
func (m *Machine) noteGaps(p *Poll) {
	out := &p.Out
	switch {
	case p.Plan.Gap != nil:
		m.noteFill(p)
	case out.Capped:
		p.Opened = &Gap{Target: p.Key(), From: p.Plan.Cutoff, To: out.Reach, FoundAt: out.Begun, Resume: out.Next}
		if p.Opened.To.IsZero() || out.Unordered {
			p.Opened.To = out.Begun // the posts left out may be of any time
		}
		if !m.traits.Resumes {
			p.Opened.Resume = ""
			if before(p.Opened.To, p.Plan.Cutoff) {
				p.Opened.To = p.Plan.Cutoff
			}
		}
	case !m.traits.Resumes && out.Complete && !out.Shallow:
		for _, g := range m.targets.At(p.Slot).Gaps() {
			if !g.From.Before(p.Plan.Cutoff) {
				g.FilledAt = out.Begun
				p.Healed = append(p.Healed, g)
			}
		}
	}
}

// noteFill notes what is left of the gap that a poll has read a part of.
func (m *Machine) noteFill(p *Poll) {
	out, gap := &p.Out, *p.Plan.Gap
	to := out.Reach
	switch {
	case out.Complete:
		gap.FilledAt, gap.Resume = m.env.Now(), ""
	case out.Posts > 0 && out.Next != "" && out.Next != gap.Resume && (to.Before(gap.To) || p.New > 0):
		gap.Resume = out.Next
		if !to.IsZero() && to.Before(gap.To) {
			gap.To = to
		}
	case m.targets.At(p.Slot).tries()+1 >= MaxFills:
		gap.Resume = "" // the gap stays open
	default:
		return
	}
	p.Closing = &gap
}

// addGap returns a copy of gaps with g added. If that makes more than MaxGaps, the oldest two are
// merged into one range.
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

// open returns how many of gaps count in GapStats.OpenGaps.
func (e *Env) open(gaps []Gap) (n int64) {
	for i := range gaps {
		if gaps[i].Resume != "" || !gaps[i].FoundAt.Before(e.Epoch) {
			n++
		}
	}
	return n
}

// Restore sets a target's gaps to those that another process left.
func (m *Machine) Restore(slot int32, gaps []Gap) {
	m.setGaps(slot, giveUpBefore(m.env.Oldest(), gaps))
	if m.traits.Resumes && len(gaps) > 0 {
		m.fills.Set(slot, m.env.Clock()+int64(fillWait))
	}
}

// giveUpBefore clears Resume of the gaps that end before oldest, because these will not be read any
// more. It returns gaps, or a changed copy.
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

// reportGaps calls the Gap callback and logs, after gaps have been recorded.
func (m *Machine) reportGaps(p *Poll) {
	if g := p.Opened; g != nil {
		m.env.Count.Gaps.Add(1)
		m.env.Logger.Warn("gap", "target", g.Target, "from", g.From, "to", g.To)
		m.env.On.Gap(*g)
		if g.Resume != "" {
			m.targets.At(p.Slot).setTries(0) // the failed fills were of another gap
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

// FillTurn reports whether a gap should be read now, and when the next gap is due; ok is false if
// there is none. While polls are due (busy), only one poll in fillShare reads a gap.
func (m *Machine) FillTurn(busy bool, now int64) (turn bool, at int64, ok bool) {
	if _, at, ok = m.fills.Next(); !ok {
		return false, 0, false
	}
	return at <= now && (!busy || m.starved >= fillShare), at, true
}

// Starve counts polls that were started instead of reading a gap.
func (m *Machine) Starve(polls int) { m.starved += polls }

// BusyPause is the wait, in nanoseconds, before the next try to poll a target that is due while its
// gap is being read.
const BusyPause = int64(250 * time.Millisecond)

// StartFill starts a poll that reads a gap of the next target in the queue: the newest one that can
// be read. It returns nil if that target has to wait or has no such gap any more.
func (m *Machine) StartFill(busy func(slot int32) bool) *Poll {
	m.starved = 0
	slot, _, _ := m.fills.Next()
	m.fills.Remove(slot)
	now, waits, t := m.env.Clock(), busy(slot), m.targets.At(slot)
	if !waits { // otherwise a poll under way may replace the gaps
		m.setGaps(slot, giveUpBefore(m.env.Oldest(), t.Gaps()))
	}
	gaps := t.Gaps()
	for i := len(gaps) - 1; i >= 0; i-- {
		switch {
		case gaps[i].Resume == "":
			continue
		case t.fails(): // the target rests after a failure
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

// filled schedules the next fill of a target's gaps.
func (m *Machine) filled(p *Poll, err error, now int64) {
	t := m.targets.At(p.Slot)
	switch {
	case err != nil:
	case p.Closing == nil:
		t.setTries(min(t.tries()+1, MaxFills))
	default: // the fill has read something, or the gap is given up
		t.setTries(0)
		if p.Out.Err == nil {
			m.fills.Set(p.Slot, now) // there may be more of this gap, or another one
			return
		}
	}
	m.fills.Set(p.Slot, now+int64(fillWait<<min(t.tries(), MaxFills)))
}

// ReadUntil returns the time up to which a target was read. This is since, or the start of the
// earliest gap that will still be read. Gaps that end before oldest do not count.
func ReadUntil(since time.Time, gaps []Gap, oldest time.Time) time.Time {
	for _, g := range gaps {
		if g.Resume != "" && g.From.Before(since) && !g.To.Before(oldest) {
			since = g.From
		}
	}
	return since
}
