package poll

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Contract detects a Fetcher that breaks its contract in a way that loses posts without an error.
// It ignores unchanged pages.
type Contract struct {
	longest  atomic.Int64 // number of posts on the longest page so far
	ends     sync.Once    // used to log only the first full page without Next
	versions atomic.Bool  // a version was wrong: versions are not used any more
	oldest   atomic.Bool  // an OldestAt was wrong: it is not believed where posts have times
}

// BelievesOldest reports whether pages may leave out known posts and give their times by OldestAt.
func (c *Contract) BelievesOldest() bool { return !c.oldest.Load() }

// checkOldest clears the OldestAt of a page with all its posts if a page of the Fetcher claimed to
// reach back to before its oldest post: the posts on the next page would never be read.
func (e *Env) checkOldest(p *Poll, pg *fetcher.Page) {
	if pg.OldestAt.IsZero() || pg.Skipped > 0 || pg.Others > 0 {
		return
	}
	dated, early := 0, pg.Next != ""
	for i := range pg.Tweets {
		if tw := &pg.Tweets[i]; !tw.Pinned {
			dated++
			early = early && tw.PublishedAt.After(pg.OldestAt.Add(orderSlack))
		}
	}
	if dated == 0 {
		return
	}
	if early {
		e.Count.WrongOldest.Add(1)
		if e.Contract.oldest.CompareAndSwap(false, true) {
			e.Logger.Warn("fetcher gives a page an OldestAt before its oldest post: ignoring OldestAt from now on",
				p.Machine.traits.Key, p.Name, "oldest_at", pg.OldestAt)
		}
	}
	if e.Contract.oldest.Load() {
		pg.OldestAt = time.Time{}
	}
}

// leastFull is the fewest posts on a page that counts as full only because no page was longer.
const leastFull = 10

// endsEarly reports whether a page without Next hides posts. Such a page is full, does not reach
// back to the last complete poll, and shows no remembered post. An account without remembered posts
// cannot show one: endsEarly returns false for it if other accounts share the answer.
func (e *Env) endsEarly(p *Poll, pg *fetcher.Page) bool {
	pl, out := &p.Plan, &p.Out
	n := int64(len(pg.Tweets) + max(0, pg.Skipped) + max(0, pg.Others))
	limit := int64(math.MaxInt64)
	if pl.Timeline.Limit > 0 {
		limit = int64(pl.Timeline.Limit)
	}
	if n < limit && n < max(leastFull, e.Contract.longest.Load()) {
		return false
	}
	if pl.Gap != nil || pg.Skipped > 0 || pl.Since.IsZero() || !out.Reach.After(pl.Since) {
		return false
	}
	if pg.Others > 0 && (pl.First || !pl.Expected) {
		return false
	}
	for i := range pg.Tweets {
		if pl.Has(pg.Tweets[i].ID) {
			return false
		}
	}
	e.Count.NoNext.Add(1)
	e.Contract.ends.Do(func() {
		e.Logger.Warn("fetcher gives a full page without Next: older posts cannot be read", "username", p.Name, "posts", n)
	})
	return true
}

// measure records the length of the longest page.
func (c *Contract) measure(pg *fetcher.Page) {
	n := int64(len(pg.Tweets) + max(0, pg.Skipped) + max(0, pg.Others))
	for longest := c.longest.Load(); n > longest; longest = c.longest.Load() {
		if c.longest.CompareAndSwap(longest, n) {
			return
		}
	}
}

// AuditShare sets the share of audits. Of AuditShare first pages that may be answered as unchanged,
// one is read.
const AuditShare = 64

// AskKnown allows the Fetcher to answer that a poll's first page has not changed since version.
// version is the last version with all posts dealt with; 0 means none. One poll in AuditShare asks
// for the page nevertheless, to audit the version. Before a target's platform has once said that
// a page had changed, so do the polls after 4, 16 and 64 unchanged pages. If a target's unchanged
// pages hide posts, it is the other way round: only one poll in AuditShare accepts them.
func (m *Machine) AskKnown(p *Poll, version uint64) {
	if version == 0 || m.env.Contract.versions.Load() {
		return
	}
	// Multiples of the golden ratio spread the audits over all accounts, in whatever order these
	// are polled.
	m.asked++
	audit, t := m.asked*0x9E3779B97F4A7C15 < math.MaxUint64/AuditShare, m.targets.At(p.Slot)
	switch {
	case t.marks/hid == hides:
		audit = !audit
	case !t.Is(honest):
		audit = audit || t.same == 4 || t.same == 16 || t.same == 64
	}
	if audit {
		p.Plan.Audit = version
		return
	}
	p.Plan.Timeline.Known, p.Plan.Search.Known = version, version
}

// known returns the version for which the Fetcher may answer that the first page is unchanged, 0
// for none. AskKnown sets it in both requests.
func (pl *Plan) known() uint64 { return pl.Timeline.Known }

// audit judges a first page by what is known about its version. If the page has the same version
// as the previous one, all its posts must be known.
func (m *Machine) audit(p *Poll) {
	out, pl, t := &p.Out, &p.Plan, m.targets.At(p.Slot)
	if len(out.Pages) == 0 || pl.Gap != nil || pl.Pushed {
		return
	}
	switch {
	case out.Unchanged:
		if out.Asked && t.same < math.MaxUint8 {
			t.same++
		}
	case pl.known() != 0:
		if t.marks/hid == hides {
			m.env.Logger.Info("fetcher reports changed pages as changed again", m.traits.Key, p.Name)
		}
		t.marks = t.marks%hid | honest
		t.same = 0
	case pl.Audit == 0:
		t.same = 0
	case out.Version != pl.Audit:
		if t.same > 0 && out.Asked && p.hidden() {
			m.env.Count.Hidden.Add(1)
			t.Mark(honest, false)
			if t.marks/hid < hides {
				if t.marks += hid; t.marks/hid == hides {
					m.env.Logger.Warn("fetcher reports changed pages as unchanged: reading them nevertheless", m.traits.Key, p.Name)
				}
			}
		}
		t.same = 0
	default:
		if t.same < math.MaxUint8 {
			t.same++
		}
		for i := range out.Pages[0].Tweets {
			tw := &out.Pages[0].Tweets[i]
			if tw.ID == "" || pl.Has(tw.ID) {
				continue
			}
			out.Version = 0
			m.env.Count.WrongVersions.Add(1)
			if m.env.Contract.versions.CompareAndSwap(false, true) {
				m.env.Logger.Warn("fetcher gives one version to pages with different posts: ignoring versions from now on",
					m.traits.Key, p.Name, "version", pl.Audit, "id", clip(tw.ID))
			}
			return
		}
	}
}

// hidden reports whether the first page has a new post from before the poll before, which should
// have shown it.
func (p *Poll) hidden() bool {
	return slices.ContainsFunc(p.Out.Pages[0].Tweets, func(tw fetcher.Tweet) bool {
		return p.Plan.tops(&tw) && before(tw.PublishedAt, p.Plan.Since) && !p.Plan.Has(tw.ID)
	})
}

// tops reports whether a post is as new as the newest post of earlier polls.
func (pl *Plan) tops(tw *fetcher.Tweet) bool {
	return !pl.Newest.IsZero() && !tw.Pinned && !tw.PublishedAt.Before(pl.Newest)
}
