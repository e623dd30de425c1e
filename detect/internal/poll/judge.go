package poll

import (
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
)

// judge decides which posts of a poll are new for which sources. It timestamps these posts and
// encodes them.
type judge struct {
	env *Env

	// Scratch space for one poll.
	view    View
	inPoll  map[string]int // numbers of posts by id (see onPage)
	page    knownPage
	scratch []byte
}

// Judge returns the events of a poll, oldest first, with the events of one post next to each other.
// It notes in the poll what to remember once they are committed. Apart from that it only changes
// counters.
func (m *Machine) Judge(p *Poll) []deliver.Event {
	p.Sound = true
	if !slices.ContainsFunc(p.Out.Pages, func(pg Page) bool { return len(pg.Tweets) > 0 }) {
		return nil // no posts, or all were known and left out
	}
	m.view(p)
	return m.judge.run(p)
}

// view fills in the judge's View for a poll and returns it.
func (m *Machine) view(p *Poll) *View {
	v := &m.judge.view
	clear(v.Readers)
	*v = View{Readers: v.Readers[:0], First: p.At}
	if t := m.targets.At(p.Slot); t.fails() {
		if due := time.Unix(0, t.odd.due); due.Before(p.At) {
			v.First = due
		}
	}
	m.targets.View(p, v)
	return v
}

func (j *judge) run(p *Poll) (events []deliver.Event) {
	v, out := &j.view, &p.Out
	now := j.env.Now()
	clear(j.inPoll)
	repeats := p.Plan.Gap != nil || v.fresh() // known posts may be new for some reader
	for n := len(out.Pages) - 1; n >= 0; n-- {
		pg := &out.Pages[n]
		j.page.look(p.Plan.Set, pg.Tweets)
		for i := len(pg.Tweets) - 1; i >= 0; i-- {
			tw := &pg.Tweets[i]
			if !j.sound(p, tw, now) || j.twice(p, n, i) {
				continue
			}
			if tw.PublishedAt.After(p.Posted) {
				p.Posted = tw.PublishedAt
			}
			if gap := p.Plan.Gap; gap != nil && before(tw.PublishedAt, gap.From) {
				continue // not in this gap; not remembered, because it may be in another gap
			}
			seen := j.page.knows(p, i, tw.ID)
			if !seen || p.Plan.Refresh {
				p.News = append(p.News, tw.ID)
			}
			if !seen {
				p.New++
				if j.history(p, tw, now) {
					continue
				}
				p.Found = append(p.Found, tw.PublishedAt)
				if from := p.Plan.Covered; !from.IsZero() && !tw.PublishedAt.Before(from) {
					p.Stream.Missing = append(p.Stream.Missing, tw)
				}
			}
			if seen && !repeats {
				continue
			}
			events = j.give(events, p, pg, tw, seen, now)
		}
	}
	if out.Unordered {
		slices.SortStableFunc(events, func(a, b deliver.Event) int { return a.PublishedAt.Compare(b.PublishedAt) })
	}
	return events
}

// give appends an event for each reader that wants a post.
func (j *judge) give(events []deliver.Event, p *Poll, pg *Page, tw *fetcher.Tweet, seen bool, now time.Time) []deliver.Event {
	v := &j.view
	skew := max(0, p.Out.Skew)
	for r := range v.Readers {
		reader := &v.Readers[r]
		// A gap's known posts may be new for some readers; the journal decides.
		if seen && !reader.Fresh && p.Plan.Gap == nil {
			continue
		}
		if before(tw.PublishedAt, reader.Since.Add(-skew)) && (seen || reader.Fresh || !j.misdated(p, tw)) {
			j.env.Count.Baseline.Add(1)
			continue
		}
		if v.Asker.Wants(reader.Source, tw) {
			events = append(events, j.event(v.earliest(p.Hash, tw.PublishedAt), reader.Source.Source, tw, pg, now))
		}
	}
	return events
}

// misdated reports whether a new post was dated long before the poll before, which did not show it,
// and yet is above all posts of earlier polls: its date is wrong, such as that of a clock in
// another time zone. It logs only the first one of a target.
func (j *judge) misdated(p *Poll, tw *fetcher.Tweet) bool {
	since := j.view.Since.Add(-j.env.MaxOverlap)
	if p.Plan.Gap != nil || !p.Plan.tops(tw) || !before(tw.PublishedAt, since) {
		return false
	}
	j.env.Count.Misdated.Add(1)
	if t := p.Machine.targets.At(p.Slot); !t.Is(misdated) {
		t.Mark(misdated, true)
		j.env.Logger.Warn("new post has a date before the monitor began: its clock or time zone is wrong",
			p.Machine.traits.Key, p.Name, "id", clip(tw.ID), "published", tw.PublishedAt)
	}
	return true
}

// sound reports whether a post can be delivered. If not, it counts and drops the post. A dropped
// post is not remembered, so it is new if it comes back valid.
func (j *judge) sound(p *Poll, tw *fetcher.Tweet, now time.Time) bool {
	what := j.env.Count.flaw(tw, now.Add(maxFuture-p.Out.Skew))
	if what == "" {
		if j.view.ownPost(tw) {
			return true
		}
		j.env.Count.Author.Add(1)
		what = "another account's"
	}
	j.dropped(p, tw, what)
	return false
}

// dropped notes that a post is dropped. It logs only the first one of a target, because a post that
// the platform keeps showing would fill the log.
func (j *judge) dropped(p *Poll, tw *fetcher.Tweet, why string) {
	p.Sound = false
	if t := p.Machine.targets.At(p.Slot); !t.Is(dropped) {
		t.Mark(dropped, true)
		j.env.Logger.Warn("post dropped", p.Machine.traits.Key, p.Name, "id", clip(tw.ID), "why", why)
	}
}

// flaw returns what is wrong with a post and counts it; it returns "" for a valid post.
func (c *Counters) flaw(tw *fetcher.Tweet, latest time.Time) string {
	switch {
	case tw.ID == "" || len(tw.ID) > MaxIDLength:
		c.NoID.Add(1)
		return "no usable id"
	case tw.PublishedAt.IsZero():
		c.NoTime.Add(1)
		return "no publication time"
	case tw.PublishedAt.After(latest):
		c.Future.Add(1)
		return "published in the future"
	}
	return ""
}

// clip cuts an id to 64 bytes for the log.
func clip(id string) string { return id[:min(len(id), 64)] }

// ownPost reports whether the target's account published a post. It compares platform ids if both
// are known, because handles change and pass to other accounts.
func (v *View) ownPost(tw *fetcher.Tweet) bool {
	if v.UserID != "" && tw.UserID != "" {
		return tw.UserID == v.UserID
	}
	name := strings.TrimPrefix(tw.Username, "@")
	return v.Username == "" || name == "" || strings.EqualFold(name, v.Username) || tw.Platform != "" && strings.EqualFold(tw.Platform+":"+name, v.Username)
}

// twice reports whether a post was on a page before. That happens because pages shift while they
// are read. A different post with the same id is dropped.
func (j *judge) twice(p *Poll, page, i int) bool {
	tw := &p.Out.Pages[page].Tweets[i]
	other, twice := j.inPoll[tw.ID]
	if !twice {
		j.inPoll[tw.ID] = onPage(page, i)
		return false
	}
	if p.Out.sameID(page, i, other) {
		j.env.Count.SameID.Add(1)
		j.dropped(p, tw, "has another post's id")
	}
	return true
}

// onPage returns a number for the i-th post of a page, unique within a poll.
func onPage(page, i int) int { return page*MaxPageTweets + i }

// sameID reports whether the i-th post of a page and the one numbered other, which has the same id,
// are different posts of that page. A page may also have the same post twice.
func (out *Outcome) sameID(page, i, other int) bool {
	if other/MaxPageTweets != page {
		return false
	}
	tweets := out.Pages[page].Tweets
	a, b := &tweets[i], &tweets[other%MaxPageTweets]
	return !a.PublishedAt.Equal(b.PublishedAt) || a.Text != b.Text || a.UserID != b.UserID || a.Username != b.Username
}

// history reports whether an unseen post is history. It is if another process read the target so
// long after its publication that it must have been visible then. It also is if it is older than
// the events that the journal is sure to remember. In a gap no post is history.
func (j *judge) history(p *Poll, tw *fetcher.Tweet, now time.Time) bool {
	v := &j.view
	switch {
	case p.Plan.Gap != nil:
		return false
	case v.Since.IsZero() || !before(tw.PublishedAt, p.Plan.Cutoff):
		return false
	case !v.Cold.IsZero() && before(tw.PublishedAt, v.Cold):
		return true // posts published later may have become visible while no process ran
	case tw.PublishedAt.Before(now.Add(-j.env.Horizon)):
		j.env.Count.Ancient.Add(1)
		return true
	}
	return false
}
