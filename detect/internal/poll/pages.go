package poll

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Read makes a poll's calls. It reads pages, newest first, until a page reaches posts older than
// the cutoff, no page is left, or the page cap is reached. Stopping at the newest known post would
// be cheaper, but would miss posts that become visible late. pg belongs to the worker. It is reused
// for all pages, and so stays in the processor's cache.
func (e *Env) Read(ctx context.Context, p *Poll, pg *fetcher.Page) {
	p.begin(e.Now())
	if p.Out.Err = e.call(ctx, p, pg); p.Out.Err != nil {
		return
	}
	if !e.take(p, pg, p.Out.Begun) {
		e.readOn(ctx, p, pg)
	}
}

// readOn reads the pages from Out.Next on, each into pg.
func (e *Env) readOn(ctx context.Context, p *Poll, pg *fetcher.Page) {
	out := &p.Out
	for {
		out.cursors = append(out.cursors, out.Next)
		if out.Err = e.Budget.WaitPage(ctx); out.Err != nil {
			return
		}
		asked := e.Now()
		if out.Err = e.call(ctx, p, pg); out.Err != nil {
			return
		}
		if e.take(p, pg, asked) {
			return
		}
	}
}

// take adds a page and reports whether the poll is done.
func (e *Env) take(p *Poll, pg *fetcher.Page, asked time.Time) (done bool) {
	pl, out := &p.Plan, &p.Out
	now := e.Now()
	p.Machine.count.Pages.Add(1)
	e.Count.Fetch.Record(now.Sub(asked))
	first := len(out.Pages) == 0
	if pg.Unchanged && (!first || pl.known() == 0) {
		out.Err = errors.New("detect: fetcher reports a page as unchanged that it was not asked to compare")
		return true
	}
	if first {
		if !pg.ServerTime.IsZero() {
			e.compareClocks(out, pg.ServerTime, asked, now)
		}
		if !pg.AsOf.IsZero() && pg.AsOf.Before(out.Begun) {
			out.Begun = pg.AsOf
		}
		out.Version, out.Unchanged, out.Asked = pg.Version, pg.Unchanged, pg.AsOf.IsZero()
		if pg.Unchanged {
			e.Count.Unchanged.Add(1)
			out.Version = pl.known()
		}
	}
	traits := &p.Machine.traits
	if traits.NewestFirst && !pg.Unchanged {
		e.Contract.measure(pg)
	}
	e.answered(func() string { return e.Bucket(traits.call(p)) }, pg.RateLimit, now)
	e.checkOldest(p, pg)
	last := out.Reach
	cut := out.add(pg, asked, now)
	if traits.OneAuthor && out.UserID == "" && len(pg.UserID) <= MaxIDLength {
		out.UserID = pg.UserID
	}
	// If posts come newest first, a page with a post older than the cutoff is the last one needed.
	// Otherwise all posts of that page must be older.
	reach := out.Reach
	if !traits.NewestFirst {
		if newest := out.order(last, pg.Tweets); out.Unordered {
			reach = newest
		}
	}
	shown := len(pg.Tweets) + pg.Skipped + pg.Others
	old := !reach.IsZero() && before(reach, pl.Cutoff) && (traits.NewestFirst || shown > 0)
	reached := old && (shown > 1 || out.wasOld)
	out.wasOld = old
	most := e.MaxPages
	if pl.Gap != nil {
		most = min(most, FillPages)
	}
	looped := slices.Contains(out.cursors, pg.Next)
	switch {
	case reached || !cut && pl.meets(pg):
		out.Complete = true
	case pg.Next == "" && !cut && traits.NewestFirst && e.endsEarly(p, pg):
		out.Capped = true
	case pg.Next == "" && !cut:
		// A target that had posts is unlikely to have none now. An empty first page is probably a
		// fault, and must not move the cursor.
		out.Complete = out.Posts+max(0, pg.Others) > 0 || !pl.Expected || p.Replaced()
	case cut || len(out.Pages) >= most || pl.Limit > 0 && out.Posts >= pl.Limit || pg.Next == "" || looped:
		// The overlap of a busy target may not fit into the cap. The pages then need only reach
		// back past the last complete poll and end at known posts. That poll read the posts behind
		// them.
		out.Shallow = !cut && pg.Next != "" && !out.Reach.IsZero() && !out.Unordered && before(out.Reach, pl.Joins) && traits.EndsKnown(p, pg)
		out.Complete, out.Capped = out.Shallow, !out.Shallow
		if cut || looped || len(pg.Next) > maxResume {
			out.Next = ""
		}
	default:
		return false
	}
	return true
}

// meets reports whether a page has no next page and reaches back to the Since of the request. An
// empty page shows this only by its OldestAt.
func (pl *Plan) meets(pg *fetcher.Page) bool {
	since := pl.Timeline.Since
	if since.IsZero() {
		since = pl.Search.Since
	}
	return !since.IsZero() && pg.Next == "" && !pg.OldestAt.IsZero() && !pg.OldestAt.After(since)
}

// add adds a page. It reports whether the page was too long and had to be cut.
func (out *Outcome) add(pg *fetcher.Page, asked, at time.Time) (cut bool) {
	tweets := pg.Tweets
	out.Posts += len(tweets) + max(0, pg.Skipped)
	oldest := pg.OldestAt
	if len(tweets) > MaxPageTweets {
		out.excess += len(tweets) - MaxPageTweets
		tweets, cut, oldest = tweets[:MaxPageTweets], true, time.Time{}
	}
	if oldest.IsZero() {
		var reach fetcher.Reach
		for i := range tweets {
			if !tweets[i].Pinned {
				reach.Add(tweets[i].PublishedAt)
			}
		}
		oldest = reach.Time()
	}
	if !oldest.IsZero() {
		out.Reach = oldest
	}
	out.Next = pg.Next
	out.Pages = append(out.Pages, Page{Asked: asked, At: at, Tweets: tweets})
	return cut
}

// orderSlack is how far the times of two posts may be in the wrong order. Some platforms give
// publication times only to the second.
const orderSlack = time.Second

// order sets Unordered if the posts of a page do not continue newest first after a post published
// at last. It returns the publication time of the newest post on the page.
func (out *Outcome) order(last time.Time, tweets []fetcher.Tweet) (newest time.Time) {
	for i := range tweets {
		at := tweets[i].PublishedAt
		if at.IsZero() {
			continue
		}
		if !last.IsZero() && at.After(last.Add(orderSlack)) {
			out.Unordered = true
		}
		last = at
		if at.After(newest) {
			newest = at
		}
	}
	return newest
}
