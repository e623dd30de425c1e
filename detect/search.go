package detect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// search is one poll of a query, from its start until its commit is settled.
// Between start and landing it belongs to the goroutine that fetches.
type search struct {
	q     *watchedQuery
	index int       // in searches.polling
	due   int64     // when the poll was due, on the detector's clock
	at    time.Time // the same on the wall
	ask   fetcher.SearchQuery
	limit int       // posts to read
	since time.Time // of the query, when the poll began
	joins time.Time // all subscribers have got what was visible then
	knows func([]string, []bool)

	cutoff    time.Time
	expected  bool // the query had posts lately, or may have had
	blank     bool // no post is known
	unordered bool // and its answers are not newest first
	failed    bool // it follows polls or commits that failed
	out       outcome

	// What came of it, until the commit is settled.
	committing bool
	shown      []string // ids of sound posts
	newPosts   int
	posted     time.Time
	cursor     *Cursor
	opened     *Gap
	filled     []Gap
	waiters    []*removal
}

// startSearch begins the poll of the query that is due first.
func (sh *shard) startSearch(ctx context.Context, now int64) {
	s := &sh.searches
	slot, at, _ := s.sched.Next()
	s.sched.Remove(slot)
	q := s.slots[slot]
	q.again = false
	q.remember(sh.d.overlap())
	f := &search{q: q, index: len(s.polling), due: at, at: sh.d.cfg.Now().Add(time.Duration(at - now)),
		ask: fetcher.SearchQuery{Query: q.text, Type: "Latest"}, limit: q.maxResults(),
		since: q.since, cutoff: q.cutoff(sh.d.overlap()), knows: q.seen.HasEach,
		expected: q.seen.Len() > 0 || q.cold, blank: q.seen.Len() == 0, unordered: q.unordered, failed: q.trouble != nil}
	f.joins = q.since
	for i := range q.subs {
		sub := &q.subs[i]
		if sub.covered = sub.fresh; sub.fresh && sub.read.Before(f.joins) {
			f.joins = sub.read
		}
	}
	q.polling = f
	s.polling = append(s.polling, f)
	sh.d.count.lag.Record(time.Duration(now - at))
	sh.hasTicket, s.turn = false, false
	sh.workers.give(sh, job{ctx: ctx, search: f})
}

// flySearch makes the poll.
func (sh *shard) flySearch(ctx context.Context, f *search) {
	d := sh.d
	f.out = outcome{begun: d.cfg.Now(), cutoff: f.cutoff}
	for {
		f.ask.Limit = f.limit - f.out.posts
		if size := d.cfg.PageSize; size > 0 {
			f.ask.Limit = min(f.ask.Limit, size)
		}
		asked := d.cfg.Now()
		pg, err := d.search(ctx, f)
		if err != nil {
			f.out.err = err
			break
		}
		if d.takeFound(f, &pg, asked) {
			break
		}
		f.out.cursors = append(f.out.cursors, pg.Next)
		f.ask.Cursor = pg.Next
		if f.out.err = d.budget.waitPage(ctx, d.stop); f.out.err != nil {
			break
		}
	}
	sh.mail.put(message{ask: func(sh *shard) { sh.landedSearch(f) }})
}

// search asks the Searcher for one page. One that panics has failed.
func (d *Detector) search(ctx context.Context, f *search) (pg fetcher.Page, err error) {
	limit := &deadline{parent: ctx, at: time.Now().Add(d.cfg.FetchTimeout)}
	defer limit.end()
	defer func() {
		if v := recover(); v != nil {
			f.out.panicked = true
			err = d.panicked(v, f.ask.Query)
		}
	}()
	d.count.calls.Add(1)
	pg, err = d.cfg.Searcher.Search(limit, f.ask)
	switch {
	case err == nil && pg.Err != nil:
		err = pg.Err
	case err == nil && limit.Err() != nil:
		err = fmt.Errorf("detect: answer came after the deadline: %w", limit.Err())
	case err == nil && (pg.Unchanged || pg.Skipped != 0):
		err = errors.New("detect: searcher leaves out posts that it was not asked to")
	}
	return pg, err
}

// takeFound adds a page and reports whether the poll has what it needs: pages
// that reach beyond the cutoff, all there is, or as much as it may read. Where
// answers are newest first, a page that has an older post is the last needed;
// else one whose posts are all older. A known post ends nothing.
func (d *Detector) takeFound(f *search, pg *fetcher.Page, asked time.Time) (done bool) {
	out := &f.out
	now := d.cfg.Now()
	d.count.queryPages.Add(1)
	d.count.fetch.Record(now.Sub(asked))
	if len(out.pages) == 0 && !pg.ServerTime.IsZero() {
		d.compareClocks(out, pg.ServerTime, asked, now)
	}
	d.budget.works()
	d.usedUp(pg.RateLimit)
	last := out.reach
	cut := out.take(pg, asked, now)
	out.next = pg.Next
	newest := f.order(last, pg.Tweets)
	n := len(pg.Tweets)
	old := n > 0 && !out.reach.IsZero() && before(out.reach, f.cutoff)
	if f.unordered {
		old = n > 0 && before(newest, f.cutoff)
	}
	reached := old && (n > 1 || out.wasOld)
	out.wasOld = old
	switch {
	case reached:
		out.complete = true
	case pg.Next == "" && !cut:
		out.complete = out.posts > 0 || !f.expected // see takePage
	case cut || out.posts >= f.limit || len(out.pages) >= d.cfg.MaxPages || out.looped(pg.Next):
		out.shallow = !cut && n > 0 && f.reachesBack(pg.Tweets[n-1].ID)
		out.complete, out.capped = out.shallow, !out.shallow
	default:
		return false
	}
	return true
}

// orderSlack is how far two posts may stand in the wrong order where the
// platform tells publication times to the second.
const orderSlack = time.Second

// order looks whether a page goes on newest first, and gives its newest post.
func (f *search) order(last time.Time, tweets []fetcher.Tweet) (newest time.Time) {
	for i := range tweets {
		at := tweets[i].PublishedAt
		if at.IsZero() {
			continue
		}
		if !last.IsZero() && at.After(last.Add(orderSlack)) {
			f.unordered = true
		}
		last = at
		if at.After(newest) {
			newest = at
		}
	}
	return newest
}

// reachesBack reports whether a poll that stopped short of its cutoff has read
// enough all the same: beyond the last complete poll, or what else joins it, and
// down to a post that was known then. What is behind was read then, too, but for what became visible
// since. A process that begins knows no posts, and takes the cursor's word.
func (f *search) reachesBack(last string) bool {
	if f.unordered || !before(f.out.reach, f.joins) {
		return false
	}
	var known [1]bool
	f.knows([]string{last}, known[:])
	return known[0] || f.blank
}

// whole reports whether a poll left nothing out that it should have read, or
// has said what.
func (f *search) whole() bool { return f.out.err == nil && (f.out.complete || f.opened != nil) }
