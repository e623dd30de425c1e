package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/rule/query"
)

var _ fetcher.Searcher = (*Platform)(nil)

// searches is the state of a platform's queries.
type searches struct {
	posts   []filed // of all accounts, in the order of the calls that made them
	queries map[string]*search
	faults  *rand.Rand
}

// filed is a post with its account.
type filed struct {
	Post    *post
	account *account
}

// search is the state of one query. Each post is matched with it once.
type search struct {
	program  *query.Program // nil if the text is not a valid query
	requests int
	asked    int     // posts that were matched
	found    []filed // by id
}

// Search implements fetcher.Searcher. It returns the matching posts of all open accounts, newest
// first; package rule/query matches them. A query that cannot be parsed gets a 400
// (*fetcher.StatusError). The cursor is the id of the oldest post of the page before. Type is
// ignored. Latency, RateLimit and Faults apply as to Timeline, except WrongAuthor. A post is matched
// once, by its state when it is first compared with the query. A first page has a Version; if
// q.Known is this Version, the answer is Unchanged.
func (p *Platform) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	below, ok := social.ParseID(q.Cursor)
	if !ok {
		p.count(badRequest, false)
		return fetcher.Page{}, fmt.Errorf("enginetest: Cursor %q is not allowed: want Page.Next of the page before", q.Cursor)
	}
	if err := social.Wait(ctx, p.cfg.Latency); err != nil {
		p.count(canceled, false)
		return fetcher.Page{}, err
	}
	page, r := p.find(q, below)
	p.count(r.kind, false)
	if r.kind == badRequest {
		return fetcher.Page{}, &fetcher.StatusError{Code: 400, Detail: "the query cannot be read"}
	}
	if err := r.err(); err != nil {
		return fetcher.Page{}, fmt.Errorf("enginetest: query %q: %w", q.Query, err)
	}
	return page, nil
}

// Searches returns the number of requests for a query with exactly this text.
func (p *Platform) Searches(text string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if s := p.searches.queries[text]; s != nil {
		return s.requests
	}
	return 0
}

// find decides what a query gets.
func (p *Platform) find(q fetcher.SearchQuery, below uint64) (page fetcher.Page, r reply) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.search(q.Query)
	s.requests++
	r = reply{now: p.cfg.Now()}
	var over bool
	if r.rate, over = p.window.Take(r.now); over {
		r.kind, r.retryAfter = rateLimited, r.rate.Reset.Sub(r.now)
		return page, r
	}
	if s.program == nil {
		r.kind = badRequest
		return page, r
	}
	r.kind, r.variant = p.cfg.Faults.draw(p.searches.faults)
	switch r.kind {
	case rateLimited:
		r.retryAfter = faultWait
		return page, r
	case serverError, truncated, html:
		return page, r
	}
	page.RateLimit, page.ServerTime = r.rate, r.now
	switch r.kind {
	case nullFields:
		po, _ := r.bogus()
		t := po.tweet(social.Author{ID: bogusUserID, Name: bogusName})
		if po.ID == 0 {
			t.ID = ""
		}
		page.Tweets = append(page.Tweets, t)
	case wrongAuthor: // a query has posts of anybody
		r.kind = good
	}
	size := p.cfg.PageSize
	if q.Limit > 0 {
		size = min(size, q.Limit)
	}
	s.fill(&page, size, below, r.now)
	if r.kind == good && q.Cursor == "" {
		compare(&page, q, size)
	}
	return page, r
}

// compare sets the Version of a first page. If q.Known is this Version, it removes the posts and sets
// Unchanged.
func compare(page *fetcher.Page, q fetcher.SearchQuery, size int) {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %q", size, q.Query)
	var reach fetcher.Reach
	for i := range page.Tweets {
		fmt.Fprint(h, " ", page.Tweets[i].ID)
		reach.Add(page.Tweets[i].PublishedAt)
	}
	page.Version = h.Sum64()
	if q.Known == page.Version {
		page.OldestAt = reach.Time()
		page.Tweets, page.Skipped, page.Unchanged = nil, len(page.Tweets), true
	}
}

// search returns the state of a query after it has matched all posts so far.
func (p *Platform) search(text string) *search {
	s := p.searches.queries[text]
	if s == nil {
		s = &search{}
		if program, _, err := query.Parse(text, query.Options{Now: p.cfg.Now}); err == nil {
			s.program = program
		}
		p.searches.queries[text] = s
	}
	if s.program == nil {
		return s
	}
	for ; s.asked < len(p.searches.posts); s.asked++ {
		f := p.searches.posts[s.asked]
		if t := f.tweet(); s.program.Match(&t) {
			at, _ := slices.BinarySearchFunc(s.found, f.Post.ID, filed.compare)
			s.found = slices.Insert(s.found, at, f)
		}
	}
	return s
}

func (f filed) compare(id uint64) int { return cmp.Compare(f.Post.ID, id) }

func (f filed) tweet() fetcher.Tweet {
	return f.Post.current().tweet(social.Author{ID: f.account.ID, Name: f.account.Name})
}

// fill adds to page the newest matching posts with ids below below, if readers can see them now.
func (s *search) fill(page *fetcher.Page, size int, below uint64, now time.Time) {
	high := len(s.found)
	if below > 0 {
		high, _ = slices.BinarySearchFunc(s.found, below, filed.compare)
	}
	var last uint64
	for _, f := range slices.Backward(s.found[:high]) {
		if f.account.closed() || !f.Post.shown(now) {
			continue
		}
		if size == 0 {
			page.Next = social.FormatID(last)
			return
		}
		page.Tweets = append(page.Tweets, f.tweet())
		last = f.Post.ID
		size--
	}
}
