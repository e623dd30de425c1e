package detect

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/fetcher"
)

// contract is what a Detector notices of a Fetcher that breaks its contract in ways
// that lose posts without an error. Nothing of it is done for an unchanged page.
type contract struct {
	longest  atomic.Int64 // posts of the longest page so far
	ends     sync.Once    // logs the first full page without Next
	versions atomic.Bool  // one was wrong: they are not used any more
}

// leastFull is how many posts a page has at least that is taken for a full one
// because none was longer.
const leastFull = 10

// endsEarly reports whether a page without Next hides posts: a full one that does not
// reach back to the last complete poll, and shows nothing of what that saw.
func (d *Detector) endsEarly(p *plan, out *outcome, pg *fetcher.Page) bool {
	n := int64(len(pg.Tweets) + max(0, pg.Skipped) + max(0, pg.Others))
	limit := int64(math.MaxInt64)
	if p.query.Limit > 0 {
		limit = int64(p.query.Limit)
	}
	if n < limit && n < max(leastFull, d.contract.longest.Load()) {
		return false
	}
	if p.gap != nil || pg.Skipped > 0 || p.since.IsZero() || !out.reach.After(p.since) {
		return false
	}
	for i := range pg.Tweets {
		if p.seen.Has(pg.Tweets[i].ID) {
			return false
		}
	}
	d.count.noNext.Add(1)
	d.contract.ends.Do(func() {
		d.cfg.Logger.Warn("fetcher gives a full page without Next: older posts cannot be read", "username", p.query.Username, "posts", n)
	})
	return true
}

// measure notes how long pages are.
func (c *contract) measure(pg *fetcher.Page) {
	n := int64(len(pg.Tweets) + max(0, pg.Skipped) + max(0, pg.Others))
	for longest := c.longest.Load(); n > longest; longest = c.longest.Load() {
		if c.longest.CompareAndSwap(longest, n) {
			return
		}
	}
}

// auditShare: one in so many first pages that could be unchanged is read.
const auditShare = 64

// askKnown sets what a poll says that it knows of the first page. One in auditShare
// says nothing, and its page is compared.
func (sh *shard) askKnown(f *flight) {
	if sh.versions.chunks == nil || sh.d.contract.versions.Load() {
		return
	}
	known := *sh.versions.at(f.slot)
	if known == 0 {
		return
	}
	// Multiples of the golden ratio spread the audits over all accounts, whatever
	// order they are polled in.
	sh.known++
	if sh.known*0x9E3779B97F4A7C15 < math.MaxUint64/auditShare {
		f.plan.audit = known
		return
	}
	f.plan.query.Known = known
}

// audit compares a page with what the page before it that had its version showed.
func (sh *shard) audit(f *flight) {
	out := &f.out
	if f.plan.audit == 0 || len(out.pages) == 0 || out.version != f.plan.audit {
		return
	}
	for i := range out.pages[0].tweets {
		tw := &out.pages[0].tweets[i]
		if tw.ID == "" || out.seen.Has(tw.ID) {
			continue
		}
		out.version = 0
		sh.d.count.wrongVersions.Add(1)
		if sh.d.contract.versions.CompareAndSwap(false, true) {
			sh.d.cfg.Logger.Warn("fetcher gives pages with different posts one version: versions are not used any more",
				"username", f.plan.query.Username, "version", f.plan.audit, "id", clip(tw.ID))
		}
		return
	}
}

// onPage is where a post is in a poll: at one of its pages.
func onPage(page, i int) int { return page*maxPageTweets + i }

// sameID reports whether a post has the id of another one on its page, which is at
// other. The same post may be there twice.
func (out *outcome) sameID(page, i, other int) bool {
	if other/maxPageTweets != page {
		return false
	}
	tweets := out.pages[page].tweets
	a, b := &tweets[i], &tweets[other%maxPageTweets]
	return !a.PublishedAt.Equal(b.PublishedAt) || a.Text != b.Text || a.UserID != b.UserID || a.Username != b.Username
}
