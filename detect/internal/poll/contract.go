package poll

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Contract detects a Fetcher that breaks its contract in a way that loses posts without an error.
// It ignores unchanged pages.
type Contract struct {
	longest  atomic.Int64 // number of posts on the longest page so far
	ends     sync.Once    // used to log only the first full page without Next
	versions atomic.Bool  // a version was wrong: versions are not used any more
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
// for the page nevertheless, to audit the version.
func (m *Machine) AskKnown(p *Poll, version uint64) {
	if version == 0 || m.env.Contract.versions.Load() {
		return
	}
	// Multiples of the golden ratio spread the audits over all accounts, in whatever order these
	// are polled.
	m.asked++
	if m.asked*0x9E3779B97F4A7C15 < math.MaxUint64/AuditShare {
		p.Plan.Audit = version
		return
	}
	p.Plan.Timeline.Known, p.Plan.Search.Known = version, version
}

// known returns the version for which the Fetcher may answer that the first page is unchanged, 0
// for none. AskKnown sets it in both requests.
func (pl *Plan) known() uint64 { return pl.Timeline.Known }

// audit checks a first page that has the same version as the previous one. All its posts must be
// known.
func (m *Machine) audit(p *Poll) {
	out := &p.Out
	if p.Plan.Audit == 0 || len(out.Pages) == 0 || out.Version != p.Plan.Audit {
		return
	}
	for i := range out.Pages[0].Tweets {
		tw := &out.Pages[0].Tweets[i]
		if tw.ID == "" || p.Plan.Has(tw.ID) {
			continue
		}
		out.Version = 0
		m.env.Count.WrongVersions.Add(1)
		if m.env.Contract.versions.CompareAndSwap(false, true) {
			m.env.Logger.Warn("fetcher gives one version to pages with different posts: ignoring versions from now on",
				m.traits.Key, p.Name, "version", p.Plan.Audit, "id", clip(tw.ID))
		}
		return
	}
}
