package engineui

import (
	"errors"
	"strings"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Limits of trying a query.
const (
	triedPosts = 100 // number of the owner's newest posts that a query is tried on
	triedShown = 20
	maxQuery   = 4096 // maximum length of a query to try, in bytes
)

// rulesData is the list of rules, and the result of trying a query.
type rulesData struct {
	*listData
	Try  *tried
	Text string // text of the query
}

// rules loads the list of rules, and tries a query.
func (c *Console) rules(v *view) (any, error) {
	list, err := c.list(v, record.Rule, "active", "paused")
	if err != nil {
		return nil, err
	}
	d := &rulesData{listData: list, Text: v.query.Get("query")}
	if strings.TrimSpace(d.Text) != "" {
		d.Try, err = c.try(v, d.Text)
	}
	return d, err
}

// tried is the result of trying a query on the newest posts.
type tried struct {
	Refused  string // error message if the query cannot be parsed
	Warnings []query.Warning
	Upstream []query.Operator // operators that cannot be decided from a stored post
	Posts    int              // number of posts looked at
	Matches  int
	Shown    []triedPost
}

// triedPost is a post and how the query applies to it.
type triedPost struct {
	deliver.Event
	Verdict query.Verdict
	Clauses []query.Explanation
}

// try matches a query against the owner's newest posts.
func (c *Console) try(v *view, text string) (*tried, error) {
	if len(text) > maxQuery {
		return &tried{Refused: "it is longer than 4,096 bytes"}, nil
	}
	p, warnings, err := c.engine.Rules().Parse(text)
	if err != nil {
		return &tried{Refused: err.Error()}, nil
	}
	t := &tried{Warnings: warnings, Upstream: p.NeedsUpstream()}
	events, err := v.newest(triedPosts)
	if err != nil {
		return nil, err
	}
	seen := map[string]bool{}
	var others []triedPost
	for _, e := range events {
		if id := e.Platform + ":" + e.TweetID; seen[id] { // a post may be found for several monitors or rules
			continue
		} else {
			seen[id] = true
		}
		body, err := deliver.ParseBody(e.Body)
		var field *deliver.FieldError
		if errors.As(err, &field) {
			continue
		}
		if err != nil {
			return nil, err
		}
		t.Posts++
		why := p.Explain(&body.Tweet)
		post := triedPost{e, why.Verdict, clauses(why)}
		if p.Match(&body.Tweet) {
			t.Matches++
			t.Shown = append(t.Shown, post)
		} else {
			others = append(others, post)
		}
	}
	t.Shown = append(t.Shown, others...)
	t.Shown = t.Shown[:min(len(t.Shown), triedShown)]
	return t, nil
}

// clauses returns up to 20 clauses of an explanation, without the groups that enclose them.
func clauses(e query.Explanation) (list []query.Explanation) {
	if len(e.Parts) == 0 {
		return []query.Explanation{e}
	}
	for _, part := range e.Parts {
		list = append(list, clauses(part)...)
	}
	return list[:min(len(list), 20)]
}
