package xapi

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

var _ fetcher.Searcher = (*Fetcher)(nil)

const (
	leastFound = 10 // the smallest page size of a search, in posts
	// searchable is how far back a search goes. X allows 7 days; five minutes less allow for
	// delays and for clocks that differ.
	searchable = 7*24*time.Hour - 5*time.Minute
)

// Search reads one page of posts of the last 7 days that match a query, in one request. Posts
// come newest first or, with Type Top, by relevance. Type Media returns only posts with
// pictures or videos. With SearchQuery.Since, the page has only newer posts. A search for
// keywords does not find reposts.
//
// The query is in the language of package query; Search translates it to X's language. If there
// is no exact translation, or the translation is too long, Search returns a
// *fetcher.ArgumentError that says what to change. Other errors are those of Timeline.
//
// Found posts have an author only with Config.Expand.Authors.
func (f *Fetcher) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	page, err := f.search(ctx, &q)
	if err != nil {
		return fetcher.Page{Billed: page.Billed}, fmt.Errorf("xapi: search %q: %w", clip(q.Query), err)
	}
	return page, nil
}

func (f *Fetcher) search(ctx context.Context, q *fetcher.SearchQuery) (page fetcher.Page, err error) {
	asked, err := f.question(q)
	if err != nil {
		return page, err
	}
	var r reading
	if q.Cursor != "" {
		if r, err = parseCursor(q.Cursor); err != nil {
			return page, err
		}
	} else {
		r = recent(q.Since, f.client.now())
	}
	a, d, err := f.read(ctx, "/2/tweets/search/recent", f.asks+r.searchQuery(asked, pageSize(q.Limit, leastFound, f.cfg.FirstPage, r.since != 0)))
	if err != nil {
		return page, err
	}
	page.Billed = f.client.bill(d)
	if len(d.Data) == 0 {
		if err := d.accountFault(); err != nil {
			return page, err
		}
	}
	token, err := d.nextToken()
	if err != nil {
		return page, err
	}
	page.RateLimit, page.ServerTime = a.rate, a.at
	fill(&page, d, q.Seen)
	switch {
	case token != "":
		page.Next = r.next(token)
	case r.since != 0 && asked.sort == byTime:
		page.OldestAt = time.UnixMilli(r.since).UTC()
	}
	return page, nil
}

// recent returns the reading for a search of posts since that time, but at most as far back as
// searchable. It always sets sinceID, because without it X leaves out the posts of the last 30
// seconds.
func recent(since, now time.Time) reading {
	var r reading
	start := now.Add(-searchable)
	if !since.IsZero() {
		r.since = since.UnixMilli()
		if since.After(start) {
			start = since
		}
	}
	r.sinceID = strconv.FormatUint(max(fetcher.SnowflakeAt(start), 1)-1, 10)
	return r
}

// The values of sort_order.
const (
	byTime      = "recency"
	byRelevance = "relevancy"
)

// question is a query in X's language, with the order of its results.
type question struct{ text, sort string }

// question translates a query to X's language. The error is a *fetcher.ArgumentError if X
// cannot answer the query.
func (f *Fetcher) question(q *fetcher.SearchQuery) (question, error) {
	refuse := func(allowed string) (question, error) {
		return question{}, &fetcher.ArgumentError{Field: "query", Value: clip(q.Query), Allowed: allowed}
	}
	p, _, err := query.Parse(q.Query, query.Options{MaxLength: mostQueryLength})
	if err != nil {
		var bad *query.SyntaxError
		if errors.As(err, &bad) {
			return refuse("a query: " + bad.Errors[0].Message)
		}
		return question{}, err
	}
	text, report := p.Translate(query.V2Search)
	if !report.Exact() {
		return refuse("one that X can search for: " + report.Losses[0].String())
	}
	out := question{text: text, sort: byTime}
	switch q.Type {
	case "", "Latest":
	case "Top":
		out.sort = byRelevance
	case "Media":
		out.text = "(" + text + ") has:media"
	default:
		return question{}, &fetcher.ArgumentError{Field: "type", Value: clip(q.Type), Allowed: "Latest, Top or Media"}
	}
	if n := utf8.RuneCountInString(out.text); n > f.cfg.QueryLength {
		return refuse(fmt.Sprintf("at most %d characters as X writes it, it has %d", f.cfg.QueryLength, n))
	}
	return out, nil
}

// clip shortens a text for an error, to 120 characters.
func clip(s string) string {
	const most = 120
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

// searchQuery returns the query parameters for a page of a search.
func (r *reading) searchQuery(q question, size int) string {
	var p parameters
	p.set("query", url.QueryEscape(q.text))
	p.set("sort_order", q.sort)
	p.count("max_results", size)
	p.set("since_id", r.sinceID)
	p.set("next_token", url.QueryEscape(r.token))
	return p.String()
}
