package detect

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// plan is what a poll has to do.
type plan struct {
	query    fetcher.TimelineQuery
	seen     *seen.Poll
	cutoff   time.Time // read back to here
	expected bool      // the account had posts before
	since    time.Time // when the last complete poll began
	gap      *Gap      // what to read, in place of the newest posts
	audit    uint64    // version of the first page that is compared: see shard.askKnown
}

// outcome is what a poll brought.
type outcome struct {
	begun     time.Time
	cutoff    time.Time
	seen      *seen.Poll
	pages     []page
	cursors   []string // of the pages after the first
	next      string   // of the page that was not read any more
	userID    string
	version   uint64        // of the first page
	unchanged bool          // the first page is as it was
	posts     int           // on all pages, skipped ones included
	excess    int           // posts cut from too long pages
	reach     time.Time     // publication time the pages reach back to
	wasOld    bool          // the last page reached further back than the cutoff
	skew      time.Duration // how far our clock is ahead of the upstream's, 0 when about right
	complete  bool          // nothing newer than cutoff was left out
	shallow   bool          // and complete, but short of the whole overlap
	capped    bool          // the page cap, or a cursor that loops, ended it early
	panicked  bool
	together  bool  // in a call with others, which failed
	err       error // of the last call; the pages before it are good
}

// page is what a call brought, and when it was made.
type page struct {
	asked, at time.Time
	tweets    []fetcher.Tweet
}

// fly makes a poll, with an upstream call of its own.
func (sh *shard) fly(ctx context.Context, f *flight) {
	f.begin(sh.d.cfg.Now())
	pg, err := sh.d.call(ctx, &f.plan.query, &f.out)
	sh.d.read(ctx, f, &pg, err, f.out.begun)
	sh.mail.put(message{landed: f})
}

func (f *flight) begin(now time.Time) {
	f.out = outcome{begun: now, cutoff: f.plan.cutoff, seen: f.plan.seen, userID: f.plan.query.UserID,
		pages: f.out.pages[:0], cursors: f.out.cursors[:0]}
	if f.plan.query.Cursor != "" {
		f.out.cursors = append(f.out.cursors, f.plan.query.Cursor)
	}
}

// read takes the first call's answer and reads pages, newest first, until they
// reach posts older than the cutoff, there are no more, or the page cap is met.
// A high-water mark would be cheaper and would miss the posts that become
// visible late.
func (d *Detector) read(ctx context.Context, f *flight, pg *fetcher.Page, err error, asked time.Time) {
	if err != nil {
		f.out.err = err
		return
	}
	if !d.takePage(f, pg, asked) {
		d.readOn(ctx, f, pg.Next)
	}
}

// readOn reads the pages from next on.
func (d *Detector) readOn(ctx context.Context, f *flight, next string) {
	out, q := &f.out, &f.plan.query
	for {
		out.cursors = append(out.cursors, next)
		q.Cursor, q.Known = next, 0
		if out.userID != "" {
			q.UserID = out.userID
		}
		if out.err = d.budget.waitPage(ctx, d.stop); out.err != nil {
			return
		}
		asked := d.cfg.Now()
		pg, err := d.call(ctx, q, out)
		if err != nil {
			out.err = err
			return
		}
		if d.takePage(f, &pg, asked) {
			return
		}
		next = pg.Next
	}
}

// takePage adds a page and reports whether the poll has what it needs.
func (d *Detector) takePage(f *flight, pg *fetcher.Page, asked time.Time) (done bool) {
	p, out := &f.plan, &f.out
	now := d.cfg.Now()
	d.count.pages.Add(1)
	d.count.fetch.Record(now.Sub(asked))
	first := len(out.pages) == 0
	if pg.Unchanged && (!first || p.query.Known == 0) {
		out.err = errors.New("detect: fetcher says unchanged of a page that it was not asked to compare")
		return true
	}
	if first {
		if !pg.ServerTime.IsZero() {
			d.compareClocks(out, pg.ServerTime, asked, now)
		}
		out.version, out.unchanged = pg.Version, pg.Unchanged
		if pg.Unchanged {
			d.count.unchanged.Add(1)
			out.version = p.query.Known
		}
	}
	if !pg.Unchanged {
		d.contract.measure(pg)
	}
	d.budget.works()
	d.usedUp(pg.RateLimit)
	cut := out.take(pg, asked, now)
	out.next = pg.Next
	old := !out.reach.IsZero() && before(out.reach, p.cutoff)
	reached := old && (len(pg.Tweets)+pg.Skipped+pg.Others > 1 || out.wasOld)
	out.wasOld = old
	most := d.cfg.MaxPages
	if p.gap != nil {
		most = min(most, fillPages)
	}
	switch {
	case reached:
		out.complete = true
		return true
	case pg.Next == "" && !cut && d.endsEarly(p, out, pg):
		out.capped = true
		return true
	case pg.Next == "" && !cut:
		// An empty first page for an account that had posts is more likely
		// a glitch than the truth: it must not move the cursor.
		out.complete = out.posts+max(0, pg.Others) > 0 || !p.expected
		return true
	case cut || len(out.pages) >= most || pg.Next == "" || out.looped(pg.Next):
		// For an account so busy that the overlap does not fit into the cap it
		// has to do that the pages reach beyond the last complete poll and the
		// last one has nothing new: what is behind was read then.
		out.shallow = p.gap == nil && p.query.Seen != nil && !cut && pg.Next != "" &&
			!out.reach.IsZero() && before(out.reach, p.since) && p.knows(pg)
		out.complete, out.capped = out.shallow, !out.shallow
		if cut || out.looped(pg.Next) || len(pg.Next) > maxResume {
			out.next = ""
		}
		return true
	}
	return false
}

// knows reports whether a page shows only what was seen before.
func (p *plan) knows(pg *fetcher.Page) bool {
	for i := range pg.Tweets {
		if !p.seen.Has(pg.Tweets[i].ID) {
			return false
		}
	}
	return len(pg.Tweets)+pg.Skipped+pg.Others > 0
}

func (out *outcome) looped(next string) bool {
	for _, c := range out.cursors {
		if c == next {
			return true
		}
	}
	return false
}

// take adds a page and reports whether it had to be cut.
func (out *outcome) take(pg *fetcher.Page, asked, at time.Time) (cut bool) {
	tweets := pg.Tweets
	out.posts += len(tweets) + max(0, pg.Skipped)
	oldest := pg.OldestAt
	if len(tweets) > maxPageTweets {
		out.excess += len(tweets) - maxPageTweets
		tweets, cut, oldest = tweets[:maxPageTweets], true, time.Time{}
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
		out.reach = oldest
	}
	if out.userID == "" && len(pg.UserID) <= maxIDLength {
		out.userID = pg.UserID
	}
	out.pages = append(out.pages, page{asked: asked, at: at, tweets: tweets})
	return cut
}

// call asks the Fetcher for one page. A Fetcher that panics has failed.
func (d *Detector) call(ctx context.Context, q *fetcher.TimelineQuery, out *outcome) (pg fetcher.Page, err error) {
	limit := &deadline{parent: ctx, at: d.epoch.Add(time.Duration(d.clock()) + d.cfg.FetchTimeout)} // cheaper than time.Now
	defer limit.end()
	defer func() {
		if v := recover(); v != nil {
			out.panicked = true
			err = d.panicked(v, q.Username)
		}
	}()
	d.count.calls.Add(1)
	pg, err = d.cfg.Fetcher.Timeline(limit, *q)
	if err == nil {
		err = pg.Err
	}
	if err == nil && limit.Err() != nil {
		err = fmt.Errorf("detect: answer came after the deadline: %w", limit.Err())
	}
	return pg, err
}

func (d *Detector) panicked(v any, username string) error {
	d.cfg.Logger.Error("fetcher panicked", "username", username, "panic", v, "stack", string(debug.Stack()))
	return fmt.Errorf("detect: fetcher panicked: %v", v)
}

// lasting reports whether an error says that the account itself is the matter.
func lasting(err error) bool {
	return errors.Is(err, fetcher.ErrNotFound) || errors.Is(err, fetcher.ErrProtected) || errors.Is(err, fetcher.ErrUnauthorized)
}
