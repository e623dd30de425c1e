package detect

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// judge decides which posts are news for whom, stamps and encodes them, and
// notes in the flight what to remember once they are committed. It changes
// nothing else but counters. Events come out oldest first.
func (sh *shard) judge(f *flight) (events []deliver.Event) {
	out := &f.out
	f.sound = true
	if out.posts == 0 {
		return nil
	}
	now := sh.d.cfg.Now()
	clear(sh.inPoll)
	ask := sh.asker(f.slot)
	repeats := f.plan.gap != nil || sh.anyFresh(f.slot) // known posts may be news for somebody
	for p := len(out.pages) - 1; p >= 0; p-- {
		pg := &out.pages[p]
		for i := len(pg.tweets) - 1; i >= 0; i-- {
			tw := &pg.tweets[i]
			if !sh.sound(f, tw, now) {
				continue
			}
			// Pages shift while they are read: the same post may be on two.
			if other, twice := sh.inPoll[tw.ID]; twice {
				if out.sameID(p, i, other) {
					sh.d.count.sameID.Add(1)
					sh.dropped(f, tw, "has another post's id")
				}
				continue
			}
			sh.inPoll[tw.ID] = onPage(p, i)
			if tw.PublishedAt.After(f.posted) && !tw.Pinned {
				f.posted = tw.PublishedAt
			}
			if gap := f.plan.gap; gap != nil && before(tw.PublishedAt, gap.From) {
				continue // not of this gap, and not marked: it may be of another
			}
			seen := out.seen.Has(tw.ID)
			if !seen {
				f.newIDs = append(f.newIDs, tw.ID)
				if sh.history(f, tw, now) {
					continue
				}
				f.found = append(f.found, tw.PublishedAt)
			}
			if seen && !repeats {
				continue
			}
			sh.eachSub(f.slot, func(s subscriber) {
				// What the window knows from a poll that met its cap, not every
				// subscriber has got: in a gap the journal decides.
				if seen && !s.fresh && f.plan.gap == nil {
					return
				}
				want := &sh.wants[s.want]
				if before(tw.PublishedAt, want.since.Add(-max(0, out.skew))) {
					sh.d.count.baseline.Add(1)
					return
				}
				if ask.wants(want.source, tw) {
					events = append(events, sh.event(sh.earliest(f, tw.PublishedAt), want.source.Source, tw, pg, now))
				}
			})
		}
	}
	return events
}

// sound drops and counts a post that can not be what it should be. A dropped
// post is not remembered: if it comes back whole, it is news.
func (sh *shard) sound(f *flight, tw *fetcher.Tweet, now time.Time) bool {
	what := sh.d.count.flaw(tw, now.Add(maxFuture-f.out.skew))
	if what == "" {
		if sh.ownPost(f, tw) {
			return true
		}
		sh.d.count.author.Add(1)
		what = "another account's"
	}
	sh.dropped(f, tw, what)
	return false
}

// dropped notes that a post is not what it should be, and logs the first of an
// account, so that a stuck post does not fill the log.
func (sh *shard) dropped(f *flight, tw *fetcher.Tweet, why string) {
	f.sound = false
	if t := sh.targets.at(f.slot); !t.is(dropped) {
		t.set(dropped, true)
		sh.d.cfg.Logger.Warn("post dropped", "username", f.plan.query.Username, "id", clip(tw.ID), "why", why)
	}
}

// flaw says what is wrong with a post, and counts it; "" is nothing.
func (c *counters) flaw(tw *fetcher.Tweet, latest time.Time) string {
	switch {
	case tw.ID == "" || len(tw.ID) > maxIDLength:
		c.noID.Add(1)
		return "no usable id"
	case tw.PublishedAt.IsZero():
		c.noTime.Add(1)
		return "no publication time"
	case tw.PublishedAt.After(latest):
		c.future.Add(1)
		return "published in the future"
	}
	return ""
}

// clip keeps an id of any length fit for a log.
func clip(id string) string { return id[:min(len(id), 64)] }

// ownPost compares by the platform's id where there is one, because handles
// change and are given to others.
func (sh *shard) ownPost(f *flight, tw *fetcher.Tweet) bool {
	id := f.id
	if id == "" {
		id = f.out.userID
	}
	if id != "" && tw.UserID != "" {
		return tw.UserID == id
	}
	return tw.Username == "" || strings.EqualFold(strings.TrimPrefix(tw.Username, "@"), f.plan.query.Username)
}

// history reports whether an unseen post is nevertheless old news: from so long
// before another process has read the target that it would not become visible since,
// or older than the journal is sure to remember. In a gap everything is news.
func (sh *shard) history(f *flight, tw *fetcher.Tweet, now time.Time) bool {
	t := sh.targets.at(f.slot)
	switch {
	case f.plan.gap != nil:
		return false
	case t.since == 0 || !before(tw.PublishedAt, f.out.cutoff):
		return false
	case t.is(cold) && before(tw.PublishedAt, t.since.time().Add(-sh.d.cfg.MaxOverlap)):
		return true // the rest may have become visible late, while none ran
	case tw.PublishedAt.Before(now.Add(-sh.d.cfg.Horizon)):
		sh.d.count.ancient.Add(1)
		return true
	}
	return false
}

func (sh *shard) event(earliest time.Time, src deliver.Source, tw *fetcher.Tweet, pg *page, now time.Time) deliver.Event {
	ev := deliver.Event{
		ID:             deliver.EventID(src.ID, tw.ID),
		Source:         src,
		TweetID:        tw.ID,
		AuthorUsername: tw.Username,
		TextPreview:    preview(tw),
		TweetURL:       tw.Permalink,
		PublishedAt:    tw.PublishedAt,
		EarliestAt:     earliest,
		RequestedAt:    pg.asked,
		FetchedAt:      pg.at,
		DetectedAt:     now,
		Latency:        now.Sub(tw.PublishedAt).Truncate(time.Millisecond), // stamps are no finer
		Handlers:       sh.d.cfg.Handlers,
	}
	if ev.Latency < 0 {
		sh.d.count.negative.Add(1)
		ev.Latency = 0
	}
	if ev.TweetURL == "" {
		ev.TweetURL = "https://x.com/" + tw.Username + "/status/" + tw.ID
	}
	sh.scratch = deliver.AppendBody(sh.scratch[:0], &ev, tw)
	ev.Body = append([]byte(nil), sh.scratch...)
	return ev
}

// preview is the text's first 100 characters.
func preview(tw *fetcher.Tweet) string {
	text := tw.FullText
	if text == "" {
		text = tw.Text
	}
	for i, n := 0, 0; i < len(text); n++ {
		if n == 100 {
			return strings.Clone(text[:i])
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		i += size
	}
	return text
}
