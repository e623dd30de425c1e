package detect

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// verdict is what a poll's pages mean for a target.
type verdict struct {
	events []deliver.Event
	newIDs []string // to remember once the events are committed
}

// judge decides which posts are news for whom, stamps and encodes them. It
// changes nothing but the counters. Events come out oldest first.
func (sh *shard) judge(t *target, out *outcome) verdict {
	var v verdict
	c := &sh.d.count
	now := sh.d.cfg.Now()
	clear(sh.inPoll)
	for p := len(out.pages) - 1; p >= 0; p-- {
		pg := &out.pages[p]
		for i := len(pg.tweets) - 1; i >= 0; i-- {
			tw := &pg.tweets[i]
			if !sh.sound(t, out, tw, now) {
				continue
			}
			// Pages shift while they are read: the same post may be on two.
			if _, twice := sh.inPoll[tw.ID]; twice {
				continue
			}
			sh.inPoll[tw.ID] = struct{}{}
			seen := out.seen.Has(tw.ID)
			if !seen {
				v.newIDs = append(v.newIDs, tw.ID)
				if sh.history(t, out, tw, now) {
					continue
				}
				if !t.since.IsZero() && tw.PublishedAt.Before(t.since) {
					c.late.Add(1)
				}
			}
			for s := range t.subs {
				sub := &t.subs[s]
				if seen && !sub.fresh {
					continue
				}
				if before(tw.PublishedAt, sub.since.Add(-out.skew)) {
					c.baseline.Add(1)
					continue
				}
				if sub.match == nil || sub.match(tw) {
					v.events = append(v.events, sh.event(sub.source, tw, pg.at, now))
				}
			}
		}
	}
	return v
}

// sound drops and counts a post that can not be what it should be. A dropped
// post is not remembered: if it comes back whole, it is news.
func (sh *shard) sound(t *target, out *outcome, tw *fetcher.Tweet, now time.Time) bool {
	c := &sh.d.count
	what := ""
	switch {
	case tw.ID == "" || len(tw.ID) > maxIDLength:
		c.noID.Add(1)
		what = "no usable id"
	case tw.PublishedAt.IsZero():
		c.noTime.Add(1)
		what = "no publication time"
	case tw.PublishedAt.After(now.Add(maxFuture - out.skew)):
		c.future.Add(1)
		what = "published in the future"
	case !ownPost(t, out, tw):
		c.author.Add(1)
		what = "another account's"
	default:
		return true
	}
	if !t.dropped { // once for an account, so that a stuck post does not fill the log
		t.dropped = true
		sh.d.cfg.Logger.Warn("post dropped", "username", t.username, "id", clip(tw.ID), "why", what)
	}
	return false
}

// clip keeps an id of any length fit for a log.
func clip(id string) string { return id[:min(len(id), 64)] }

// ownPost compares by the platform's id where there is one, because handles
// change and are given to others.
func ownPost(t *target, out *outcome, tw *fetcher.Tweet) bool {
	id := t.userID
	if id == "" {
		id = out.userID
	}
	if id != "" && tw.UserID != "" {
		return tw.UserID == id
	}
	return tw.Username == "" || strings.EqualFold(strings.TrimPrefix(tw.Username, "@"), t.username)
}

// history reports whether an unseen post is nevertheless old news: from before
// the overlap when another process has read the target until then, or older
// than the journal is sure to remember.
func (sh *shard) history(t *target, out *outcome, tw *fetcher.Tweet, now time.Time) bool {
	if t.since.IsZero() || !before(tw.PublishedAt, out.cutoff) {
		return false
	}
	if t.cold {
		return true
	}
	if tw.PublishedAt.Before(now.Add(-sh.d.cfg.Horizon)) {
		sh.d.count.ancient.Add(1)
		return true
	}
	return false
}

func (sh *shard) event(src deliver.Source, tw *fetcher.Tweet, fetched, detected time.Time) deliver.Event {
	ev := deliver.Event{
		ID:             deliver.EventID(src.ID, tw.ID),
		Source:         src,
		TweetID:        tw.ID,
		AuthorUsername: tw.Username,
		TextPreview:    preview(tw),
		TweetURL:       tw.Permalink,
		PublishedAt:    tw.PublishedAt,
		FetchedAt:      fetched,
		DetectedAt:     detected,
		Latency:        detected.Sub(tw.PublishedAt).Truncate(time.Millisecond), // stamps are no finer
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
