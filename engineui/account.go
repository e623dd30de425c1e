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
	Now     time.Time
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
	d := accountData{AccountStatus: st, Now: c.cfg.Now()}
	d.Picture = newTimeline(st.Polls, d.Now)
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
		b := timelineBar{X: coord(597 * float64(p.Begun.Sub(t.From)) / float64(whole)), Class: "c7"}
		height := 4.0
		switch {
		case p.Error != "":
			b.Class, height = "failed", 100
		case p.Found > 0:
			b.Class, height = "c2", max(8, a.at(p.LongestWait))
		case p.Gap:
			b.Class = "c1"
		}
		b.Y, b.Height = coord(100-height), coord(height)
		t.Bars = append(t.Bars, b)
	}
	return t
}
