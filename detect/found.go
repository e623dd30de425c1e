package detect

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// landedSearch takes a poll's outcome: judge it, and commit what came of it.
func (sh *shard) landedSearch(f *search) {
	sh.workers.busy--
	q, out, c := f.q, &f.out, &sh.d.count
	c.queryPolls.Add(1)
	c.posts.Add(int64(out.posts))
	c.excess.Add(int64(out.excess))
	if out.panicked {
		c.panics.Add(1)
	}
	if out.shallow {
		c.shallow.Add(1)
	}
	if out.err != nil {
		c.queryErrors.Add(1)
		sh.d.noteRateLimit(q.failures(), out.err)
	}
	if len(q.subs) == 0 {
		sh.endSearch(f)
		return
	}
	if n := len(out.pages); n > 0 {
		q.lastContact = out.pages[n-1].at
		if out.skew != 0 && q.skew == 0 {
			sh.d.cfg.Logger.Warn("clocks differ", "query", q.text, "ahead of upstream", out.skew)
		}
		q.skew = out.skew
		q.cold = false
	}
	q.unordered = f.unordered
	events := sh.judgeFound(f)
	f.noteGaps()
	f.cursor = f.moved(sh.d.oldest())
	f.committing = true
	if f.cursor == nil && len(events) == 0 {
		sh.committedSearch(f, nil)
		return
	}
	sh.d.committer.put(waiting{batch: &Batch{Cursor: f.cursor, Events: events}, shard: sh, search: f})
}

// judgeFound decides which posts are news for which rules, stamps and encodes
// them. Events come out oldest first, those of one post together.
func (sh *shard) judgeFound(f *search) (events []deliver.Event) {
	q, out := f.q, &f.out
	now := sh.d.cfg.Now()
	earliest := f.earliest()
	clear(sh.inPoll)
	var ids []string
	var known []bool
	for p := len(out.pages) - 1; p >= 0; p-- {
		pg := &out.pages[p]
		ids = ids[:0]
		for i := range pg.tweets {
			ids = append(ids, pg.tweets[i].ID)
		}
		known = slices.Grow(known[:0], len(ids))[:len(ids)]
		q.seen.HasEach(ids, known)
		for i := len(pg.tweets) - 1; i >= 0; i-- {
			tw := &pg.tweets[i]
			if why := sh.d.count.flaw(tw, now.Add(maxFuture-out.skew)); why != "" {
				sh.droppedFound(q, tw, why)
				continue
			}
			// Pages shift while they are read: the same post may be on two.
			if other, twice := sh.inPoll[tw.ID]; twice {
				if out.sameID(p, i, other) {
					sh.d.count.sameID.Add(1)
					sh.droppedFound(q, tw, "has another post's id")
				}
				continue
			}
			sh.inPoll[tw.ID] = onPage(p, i)
			f.shown = append(f.shown, tw.ID)
			if tw.PublishedAt.After(f.posted) {
				f.posted = tw.PublishedAt
			}
			seen := known[i]
			if !seen {
				f.newPosts++
				if !q.since.IsZero() && before(tw.PublishedAt, out.cutoff) && tw.PublishedAt.Before(now.Add(-sh.d.cfg.Horizon)) {
					sh.d.count.ancient.Add(1) // older than the journal is sure to remember
					continue
				}
			}
			for s := range q.subs {
				sub := &q.subs[s]
				if seen && !sub.fresh {
					continue
				}
				if before(tw.PublishedAt, sub.Since.Add(-max(0, out.skew))) {
					sh.d.count.baseline.Add(1)
					continue
				}
				if sub.Match == nil || sub.Match(tw) {
					events = append(events, sh.event(earliest(tw.PublishedAt), sub.Source, tw, pg, now))
				}
			}
		}
	}
	if f.unordered {
		slices.SortStableFunc(events, func(a, b deliver.Event) int { return a.PublishedAt.Compare(b.PublishedAt) })
	}
	return events
}

// droppedFound logs the first post of a query that is not what it should be.
func (sh *shard) droppedFound(q *watchedQuery, tw *fetcher.Tweet, why string) {
	if !q.dropped {
		q.dropped = true
		sh.d.cfg.Logger.Warn("post dropped", "query", q.text, "id", clip(tw.ID), "why", why)
	}
}

// earliest says when the first poll was due that could have shown a post.
func (f *search) earliest() func(published time.Time) time.Time {
	first := f.at // of the polls since the last complete one
	if tr := f.q.trouble; tr != nil && tr.due.Before(first) {
		first = tr.due
	}
	return func(published time.Time) time.Time {
		at := first
		if published.Before(f.since) {
			at = f.since
		}
		if at.Before(published) {
			return published
		}
		return at
	}
}

// moved is the cursor to store with this poll, nil when that can wait. It is not before
// oldest.
func (f *search) moved(oldest time.Time) *Cursor {
	q := f.q
	if !f.whole() {
		return nil
	}
	if f.opened == nil && f.filled == nil && f.newPosts == 0 && !q.since.IsZero() && periodOf(q.hash, q.since) == periodOf(q.hash, f.out.begun) {
		return nil
	}
	gaps := slices.DeleteFunc(slices.Clone(q.gaps), func(g Gap) bool {
		return slices.ContainsFunc(f.filled, func(done Gap) bool { return done.FoundAt.Equal(g.FoundAt) && done.To.Equal(g.To) })
	})
	if f.opened != nil {
		gaps = addGap(gaps, *f.opened)
	}
	since := f.out.begun
	for i := range q.subs { // who has come since is to get it from the next process, if need be
		if s := &q.subs[i]; s.fresh && !s.covered && s.read.Before(since) {
			since = latest(s.read, oldest)
		}
	}
	return &Cursor{Target: q.target, Since: since, Gaps: gaps}
}

// noteGaps says what a poll that met its cap leaves unread, and which earlier
// gaps a complete one has read. A search is not read on later: who asks for so
// many results means it.
func (f *search) noteGaps() {
	q, out := f.q, &f.out
	switch {
	case out.err != nil:
	case out.capped:
		to := out.reach
		if to.IsZero() || f.unordered {
			to = out.begun // what was left out may be of any time
		}
		if before(to, out.cutoff) {
			to = out.cutoff
		}
		f.opened = &Gap{Target: q.target, From: out.cutoff, To: to, FoundAt: out.begun}
	case out.complete && !out.shallow:
		for _, g := range q.gaps {
			if !g.From.Before(out.cutoff) {
				g.FilledAt = out.begun
				f.filled = append(f.filled, g)
			}
		}
	}
}

// committedSearch applies a poll once its batch is in the journal, or forgets
// it: then the next poll finds it all again.
func (sh *shard) committedSearch(f *search, err error) {
	q := f.q
	if len(q.subs) == 0 {
		sh.endSearch(f)
		return
	}
	sh.endedSearch(f)
	if err == nil {
		sh.applySearch(f)
	}
	sh.rescheduleSearch(f, err)
}

func (sh *shard) applySearch(f *search) {
	q, out := f.q, &f.out
	q.seen.Add(out.begun, f.shown...)
	if f.posted.After(q.lastPost) {
		q.lastPost = f.posted
	}
	if f.cursor != nil {
		q.gaps = f.cursor.Gaps
	}
	if g := f.opened; g != nil {
		sh.d.count.gaps.Add(1)
		sh.d.cfg.Logger.Warn("gap", "target", g.Target, "from", g.From, "to", g.To)
		sh.d.cfg.OnGap(*g)
	}
	for _, g := range f.filled {
		sh.d.count.filled.Add(1)
		sh.d.cfg.Logger.Info("gap read", "target", g.Target, "from", g.From, "to", g.To)
		sh.d.cfg.OnGap(g)
	}
	if !f.whole() {
		return
	}
	q.since = out.begun
	for i := range q.subs {
		if s := &q.subs[i]; s.covered {
			s.fresh, s.covered = false, false
		}
	}
}

// rescheduleSearch sets the query's next poll after one whose commit ended with
// err.
func (sh *shard) rescheduleSearch(f *search, err error) {
	q, now := f.q, sh.d.clock()
	var wait time.Duration
	switch {
	case err != nil: // the store's fault and not the query's: it is due again soon
		q.fails(f).failures++
		q.trouble.err = err
		wait = min(sh.d.backoff(q.trouble.failures), max(q.every(), sh.d.cfg.MinBackoff))
	case f.out.err != nil:
		sh.followSearch(f)
		wait = sh.d.retryWait(q.failures(), f.out.err)
	default:
		sh.followSearch(f)
		if q.again {
			sh.searches.sched.Set(q.slot, now)
		} else {
			sh.planSearch(q, max(now, f.due))
		}
		return
	}
	sh.searches.sched.Set(q.slot, now+int64(wait))
}

// endSearch lets go of a poll whose query nobody has any more.
func (sh *shard) endSearch(f *search) {
	sh.endedSearch(f)
	sh.releaseQuery(f.q)
}

// endedSearch notes that a poll is not under way any more.
func (sh *shard) endedSearch(f *search) {
	s := &sh.searches
	f.q.polling = nil
	last := len(s.polling) - 1
	moved := s.polling[last]
	s.polling[f.index], moved.index = moved, f.index
	s.polling[last] = nil
	s.polling = s.polling[:last]
	for _, r := range f.waiters {
		r.settle()
	}
}
