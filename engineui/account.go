package engineui

import (
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/figure"
	"github.com/streamwatch/streamwatch/internal/search"
	"github.com/streamwatch/streamwatch/record"
)

// Limits of the page of an account.
const (
	postsSearched = 500 // number of an owner's newest events that are searched for the account's posts
	postsShown    = 20
)

// accountData holds the data of an account's page.
type accountData struct {
	detect.AccountStatus
	Picture figure.Timeline
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
	polls := figure.Count(answered) + " of its last " + figure.Count(len(d.Polls)) + " polls were answered"
	switch {
	case d.Failures > 0:
		return &verdict{"bad", "It cannot be read.", figure.Count(d.Failures) + " polls or commits failed in a row; the last: " + cut(500, d.Error)}
	case d.silent():
		return &verdict{"warn", "It is silent, and the polls are well.", polls + ", the last " + figure.About(d.now.Sub(d.LastContact)) +
			" ago. By its rate " + figure.Decimal(d.Missing) + " posts were to be expected since its last. Look at the platform whether it posts."}
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
		return &verdict{Class: "warn", Text: "silent for " + figure.About(d.now.Sub(d.LastPost))}
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
	d.Picture = figure.NewTimeline(st.Polls, d.now)
	if of.all { // of one who watches it
		page, err := c.index.List(v.Context(), search.Query{Kind: record.Monitor, All: true, Find: st.Username, Size: 1})
		if err != nil {
			return nil, err
		}
		for _, e := range page.Entries {
			v.Owner = e.Owner
		}
	}
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
