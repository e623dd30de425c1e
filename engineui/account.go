package engineui

import (
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// Limits of the page of an account.
const (
	postsSearched = 500 // number of an owner's newest events that are searched for the account's posts
	postsShown    = 20
)

// accountData holds the data of an account's page.
type accountData struct {
	detect.AccountStatus
	Picture timeline
	Posts   []deliver.Event // newest first; only from the owner's newest events
	now     time.Time
}

// verdict is a state with its color, and what is to be known of it.
type verdict struct{ Class, Text, What string }

// Verdict says whether the account is silent or the engine is blind; it is nil if neither.
func (d *accountData) Verdict() *verdict {
	answered := 0
	for _, p := range d.Polls {
		if p.Error == "" {
			answered++
		}
	}
	polls := num(answered) + " of its last " + num(len(d.Polls)) + " polls were answered"
	switch {
	case d.Failures > 0:
		return &verdict{"bad", "It cannot be read.", num(d.Failures) + " polls or commits failed in a row; the last: " + cut(500, d.Error)}
	case d.silent():
		return &verdict{"warn", "It is silent, and the polls are well.", polls + ", the last " + about(d.now.Sub(d.LastContact)) +
			" ago. By its rate " + figure(d.Missing) + " posts were to be expected since its last. Look at the platform whether it posts."}
	}
	return nil
}

// silent reports whether at least three posts are missing.
func (d *accountData) silent() bool { return d.Missing >= 3 && !d.LastPost.IsZero() }

// Chip is Verdict in two words.
func (d *accountData) Chip() *verdict {
	switch {
	case d.Failures > 0:
		return &verdict{Class: "bad", Text: "not read"}
	case d.silent():
		return &verdict{Class: "warn", Text: "silent for " + about(d.now.Sub(d.LastPost))}
	case d.Elsewhere:
		return &verdict{Text: "polled by another node"}
	}
	return &verdict{Class: "good", Text: "well"}
}

// account loads the page of one account.
func (c *Console) account(v *view) (any, error) {
	name := strings.TrimSpace(v.query.Get("account"))
	if name == "" {
		return nil, errNotFound
	}
	of := v.scope()
	st, ok, err := c.engine.AccountOf(v.Context(), of.owner, name)
	if of.all {
		st, ok, err = c.engine.Account(v.Context(), name)
	}
	switch {
	case err != nil:
		return nil, running(err)
	case !ok:
		return nil, errNotFound
	}
	d := &accountData{AccountStatus: st, now: c.cfg.Now()}
	d.Picture = newTimeline(st.Polls, d.now)
	newest, err := v.newest(postsSearched)
	if err != nil {
		return nil, err
	}
	for _, e := range newest {
		if len(d.Posts) < postsShown && sameName(e.AuthorUsername, e.Platform, st.Username) {
			d.Posts = append(d.Posts, e)
		}
	}
	return d, nil
}

// sameName reports whether name is "author" or "platform:author".
func sameName(author, platform, name string) bool {
	name = strings.TrimPrefix(name, "@")
	return strings.EqualFold(author, name) || platform != "" && strings.EqualFold(platform+":"+author, name)
}

// timeline is a chart of polls: one bar for each, as high as the delay of the posts it found.
type timeline struct {
	Bars []timelineBar
	From time.Time
	Top  string // value at the upper edge
	Text string
}

// timelineBar is the bar of a poll, in a box of 600 × 100.
type timelineBar struct{ X, Y, Height, Class string }

func newTimeline(polls []detect.PastPoll, now time.Time) timeline {
	var t timeline
	if len(polls) == 0 {
		return t
	}
	t.From = polls[len(polls)-1].Begun
	longest, found, failed := time.Duration(0), 0, 0
	for _, p := range polls {
		longest = max(longest, p.LongestWait)
		found += p.Found
		if p.Error != "" {
			failed++
		}
	}
	a := newAxis(longest)
	t.Top = dur(a.To)
	t.Text = num(len(polls)) + " polls since " + clock(t.From) + " UTC, " + num(failed) + " failed, " + num(found) + " posts found"
	whole := max(now.Sub(t.From), time.Second)
	for _, p := range polls {
		b := timelineBar{X: coord(597 * float64(p.Begun.Sub(t.From)) / float64(whole)), Class: "f5"}
		height := 4.0
		switch {
		case p.Error != "":
			b.Class, height = "fbad", 100
		case p.Found > 0:
			b.Class, height = "f0", max(8, a.at(p.LongestWait))
		case p.Gap:
			b.Class = "f1"
		}
		b.Y, b.Height = coord(100-height), coord(height)
		t.Bars = append(t.Bars, b)
	}
	return t
}
