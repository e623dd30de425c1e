package detect

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/streamwatch/streamwatch/detect/seen"
	"github.com/streamwatch/streamwatch/fetcher"
)

// plan is what a poll has to do. It shares nothing with the target but the
// window, which stays as it is while the poll runs.
type plan struct {
	query    fetcher.TimelineQuery
	seen     *seen.Poll
	cutoff   time.Time // read back to here
	expected bool      // the account had posts before
}

// outcome is what a poll brought.
type outcome struct {
	begun    time.Time
	cutoff   time.Time
	seen     *seen.Poll
	pages    []page
	userID   string
	posts    int           // on all pages, skipped ones included
	excess   int           // posts cut from too long pages
	reach    time.Time     // publication time the pages reach back to
	skew     time.Duration // how far our clock is ahead of the upstream's, 0 when about right
	complete bool          // nothing newer than cutoff was left out
	capped   bool          // the page cap, or a cursor that loops, ended it early
	panicked bool
	err      error // of the last call; the pages before it are good
}

type page struct {
	at     time.Time // when it arrived
	tweets []fetcher.Tweet
}

// poll reads pages, newest first, until they reach posts older than the
// cutoff, there are no more, or the page cap is met. A high-water mark would
// be cheaper and would miss the posts that become visible late.
func (d *Detector) poll(ctx context.Context, p plan) outcome {
	out := outcome{begun: d.cfg.Now(), cutoff: p.cutoff, seen: p.seen, userID: p.query.UserID}
	cursors := make([]string, 0, 4)
	wasOld := false // the page before reached that far too
	for n := 0; ; n++ {
		if n > 0 {
			if out.err = d.budget.wait(ctx, d.stop); out.err != nil {
				return out
			}
		}
		pg, err := d.call(ctx, p.query, &out)
		if err != nil {
			out.err = err
			return out
		}
		d.count.pages.Add(1)
		if n == 0 {
			out.measureSkew(pg.ServerTime, d.cfg.Now())
		}
		if pg.RateLimit.Known && pg.RateLimit.Remaining == 0 {
			d.budget.closeUntil(pg.RateLimit.Reset)
		}
		cut := out.take(pg, d.cfg.Now())
		old := !out.reach.IsZero() && before(out.reach, p.cutoff)
		reached := old && (len(pg.Tweets)+pg.Skipped > 1 || wasOld)
		wasOld = old
		switch {
		case reached:
			out.complete = true
			return out
		case pg.Next == "" && !cut:
			// An empty first page for an account that had posts is more likely
			// a glitch than the truth: it must not move the cursor.
			out.complete = out.posts > 0 || !p.expected
			return out
		case cut || n+1 >= d.cfg.MaxPages || pg.Next == "" || looped(cursors, pg.Next):
			// An account so busy that the overlap does not fit into the cap was
			// read to the end all the same if the last page had nothing new.
			out.complete = !cut && pg.Next != "" && p.knows(&pg)
			out.capped = !out.complete
			return out
		}
		cursors = append(cursors, pg.Next)
		p.query.Cursor = pg.Next
		if out.userID != "" {
			p.query.UserID = out.userID
		}
	}
}

// knows reports whether a page shows only what was seen before.
func (p *plan) knows(pg *fetcher.Page) bool {
	for i := range pg.Tweets {
		if !p.seen.Has(pg.Tweets[i].ID) {
			return false
		}
	}
	return len(pg.Tweets)+pg.Skipped > 0
}

// maxSkew is the difference of clocks that the Date header's whole seconds and
// the answer's way explain.
const maxSkew = 2 * time.Second

// measureSkew compares clocks. What was read is told by the upstream's clock:
// ours may be ahead by more than the overlap, and must not hide posts.
func (out *outcome) measureSkew(server, now time.Time) {
	if server.IsZero() {
		return
	}
	if skew := now.Sub(server); skew > maxSkew || skew < -maxSkew {
		out.skew = skew
		out.begun = out.begun.Add(-skew)
	}
}

func looped(cursors []string, next string) bool {
	for _, c := range cursors {
		if c == next {
			return true
		}
	}
	return false
}

// take adds a page and reports whether it had to be cut.
func (out *outcome) take(pg fetcher.Page, at time.Time) (cut bool) {
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
	out.pages = append(out.pages, page{at: at, tweets: tweets})
	return cut
}

// call asks the Fetcher for one page. A Fetcher that panics has failed.
func (d *Detector) call(ctx context.Context, q fetcher.TimelineQuery, out *outcome) (pg fetcher.Page, err error) {
	ctx, cancel := context.WithTimeout(ctx, d.cfg.FetchTimeout)
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			out.panicked = true
			d.cfg.Logger.Error("fetcher panicked", "username", q.Username, "panic", v, "stack", string(debug.Stack()))
			err = fmt.Errorf("detect: fetcher panicked: %v", v)
		}
	}()
	pg, err = d.cfg.Fetcher.Timeline(ctx, q)
	if err == nil && ctx.Err() != nil {
		err = fmt.Errorf("detect: answer came after the deadline: %w", ctx.Err())
	}
	return pg, err
}

// lasting reports whether an error says that the account itself is the matter.
func lasting(err error) bool {
	return errors.Is(err, fetcher.ErrNotFound) || errors.Is(err, fetcher.ErrProtected) || errors.Is(err, fetcher.ErrUnauthorized)
}
