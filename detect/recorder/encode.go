package recorder

import (
	"encoding/json"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// stamp returns a time as it is written: in UTC, without the monotonic reading.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.Round(0).UTC()
}

func runOf(n int, e *poll.Env) *run {
	return &run{Run: n, Platform: e.Platform, Epoch: stamp(e.Epoch), Seed: e.Seed, MaxPages: e.MaxPages, PageSize: e.PageSize,
		Horizon: e.Horizon, MaxOverlap: e.MaxOverlap, MinBackoff: e.MinBackoff, MaxBackoff: e.MaxBackoff, Handlers: e.Handlers}
}

// line returns a record as it is written.
func (h *hider) line(run int, r *poll.Record) *pollLine {
	l := &pollLine{Run: run, Key: h.key(r.Kind, r.Key), Name: h.nameOf(r), Query: r.Kind == poll.Queries, Hash: r.Hash, Given: given{
		Due: r.Due, At: stamp(r.At), Overlap: r.Overlap, Longest: r.Longest, Known: r.Known, Audit: r.Audit, Covered: r.Covered,
		Pushed: r.Pushed, Before: h.state(r.Kind, r.Before), Judging: h.readers(r.Judging),
		Errors: h.failures(r.Err), reading: reading{stamp(r.Begun), stamp(r.Judged)}, Settled: r.Settled.Now, SettledAt: stamp(r.Settled.Wall), hurry: hurry{r.Hurried, r.Wished}, Recalled: h.recalled(r.Recalled), Unstored: h.failures(r.Unstored)}}
	g := &l.Given
	for i := range r.Answers {
		g.Answers = append(g.Answers, h.answer(&r.Answers[i]))
	}
	for _, refused := range r.Refused {
		g.Refused = append(g.Refused, poll.Refusal{Post: h.text(refused.Post), Source: refused.Source})
	}
	r.Window.Each(func(id string, shown, last bool) {
		id = h.text(id)
		w := &g.Window
		if shown {
			w.Shown = append(w.Shown, id)
		}
		if last {
			w.Last = append(w.Last, id)
		} else {
			w.Earlier = append(w.Earlier, id)
		}
	})
	l.Decided = h.decided(r)
	return l
}

func (h *hider) answer(a *poll.Answer) answer {
	pg := &a.Page
	out := answer{Asked: stamp(a.Asked), At: stamp(a.At), Skipped: pg.Skipped, Others: pg.Others, OldestAt: stamp(pg.OldestAt),
		Next: h.text(pg.Next), UserID: h.text(pg.UserID), RateLimit: pg.RateLimit, ServerTime: stamp(pg.ServerTime),
		AsOf: stamp(pg.AsOf), Version: pg.Version, Unchanged: pg.Unchanged}
	out.RateLimit.Reset = stamp(out.RateLimit.Reset)
	for i := range pg.Tweets {
		t := h.tweet(&pg.Tweets[i])
		p := post{ID: t.ID, Published: stamp(t.PublishedAt), Permalink: t.Permalink, Pinned: t.Pinned}
		if h.plain {
			p.Whole = &t
		} else {
			p.Text, p.FullText, p.Username, p.UserID, p.UserName = t.Text, t.FullText, t.Username, t.UserID, t.UserName
			p.ReplyTo, p.Quote, p.Retweet = t.InReplyToStatusID, t.IsQuoteStatus, t.IsRetweet
		}
		out.Posts = append(out.Posts, p)
	}
	return out
}

// tweet returns the post as a Fetcher answers it.
func (p *post) tweet() fetcher.Tweet {
	t := fetcher.Tweet{ID: p.ID, Text: p.Text, FullText: p.FullText, Username: p.Username, UserID: p.UserID, UserName: p.UserName,
		InReplyToStatusID: p.ReplyTo, IsQuoteStatus: p.Quote, IsRetweet: p.Retweet}
	if p.Whole != nil {
		t = *p.Whole
	}
	t.PublishedAt, t.Permalink, t.Pinned = p.Published, p.Permalink, p.Pinned
	return t
}

// decided returns what a record says was decided. Unless h is plain, the events are made anew
// from pseudonyms.
func (h *hider) decided(r *poll.Record) decided {
	d := decided{Asked: asked{UserID: h.text(r.Asked.UserID), Cursor: h.text(r.Asked.Cursor), Limit: r.Asked.Limit, Since: stamp(r.Asked.Since)},
		Cutoff: stamp(r.Cutoff), Calls: len(r.Answers), Fills: h.gap(r.Kind, r.Fills), Whole: r.Whole, Opened: h.gap(r.Kind, r.Opened),
		Filled: h.gaps(r.Kind, r.Filled), Failed: r.Failed, Told: r.Told}
	for i := range d.Filled {
		d.Filled[i].FilledAt = time.Time{} // a reading of the clock
	}
	if c := r.Cursor; c != nil {
		d.Cursor = &poll.Cursor{Since: stamp(c.Since), UserID: h.text(c.UserID), Gaps: h.gaps(r.Kind, c.Gaps)}
	}
	if r.Shut != (poll.Shut{}) {
		d.Shut = &shut{h.text(r.Shut.Bucket), r.Shut.Wait}
	}
	if r.Next != 0 {
		d.Next = stamp(r.Env.Epoch.Add(time.Duration(r.Next)))
	}
	for i := range r.Events {
		d.Events = append(d.Events, h.event(&r.Events[i], r.Answers))
	}
	return d
}

func (h *hider) event(ev *deliver.Event, answers []poll.Answer) event {
	e := *ev
	if !h.plain {
		e.Source.Owner, e.Source.Name = h.text(e.Source.Owner), h.text(e.Source.Name)
		t := postOf(ev, answers)
		if t == nil { // the event is hidden all the same
			t = &fetcher.Tweet{ID: ev.TweetID, Username: ev.AuthorUsername, PublishedAt: ev.PublishedAt}
		}
		hidden := h.tweet(t)
		hidden.PublishedAt = stamp(hidden.PublishedAt)
		poll.Describe(&e, &hidden)
		e.Body = deliver.AppendBody(nil, &e, &hidden)
	}
	return event{ID: e.ID, Source: e.Source, Post: e.TweetID, Author: e.AuthorUsername, Preview: e.TextPreview, URL: e.TweetURL,
		Platform: e.Platform, Published: stamp(e.PublishedAt), Earliest: stamp(e.EarliestAt), Requested: stamp(e.RequestedAt),
		Fetched: stamp(e.FetchedAt), Detected: stamp(e.DetectedAt), Latency: e.Latency, Handlers: e.Handlers, Body: json.RawMessage(e.Body)}
}

// postOf finds the post of an event, in the order in which posts are judged: from the last of
// the last page to the first of the first.
func postOf(ev *deliver.Event, answers []poll.Answer) *fetcher.Tweet {
	for n := len(answers) - 1; n >= 0; n-- {
		tweets := answers[n].Page.Tweets
		for i := len(tweets) - 1; i >= 0; i-- {
			if t := &tweets[i]; t.ID == ev.TweetID && t.PublishedAt.Equal(ev.PublishedAt) && t.Username == ev.AuthorUsername {
				return t
			}
		}
	}
	return nil
}
