package enginetest

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/internal/social"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
)

// faultWait is how long Faults.RateLimited asks to wait.
const faultWait = time.Second

// request asks for a part of a timeline. Its bounds are ids; 0 means no bound.
type request struct {
	account string // id or handle
	byID    bool
	lookup  bool // only the account is wanted, no posts

	max   uint64 // posts below it, the newest first
	since uint64 // posts above it, the newest first
	min   uint64 // posts above it, those nearest to it
	Limit int    // 0: a full page
}

// reply is the answer to a request, by Fetcher or HTTP. It does not change later.
type reply struct {
	kind       kind
	variant    uint64
	now        time.Time
	author     social.Author
	suspended  bool
	protected  bool
	posts      []*post // newest first
	older      bool    // there are older ones
	rate       fetcher.RateLimit
	retryAfter time.Duration
}

// answer waits for the latency and returns the reply to a request. If ctx ends first, it returns the
// context's error.
func (p *Platform) answer(ctx context.Context, q request) (reply, error) {
	if err := social.Wait(ctx, p.cfg.Latency); err != nil {
		p.count(canceled, q.lookup)
		return reply{}, err
	}
	p.mu.Lock()
	r := p.decide(q)
	p.mu.Unlock()
	p.count(r.kind, q.lookup)
	return r, nil
}

func (p *Platform) decide(q request) reply {
	now := p.cfg.Now()
	r := reply{now: now}
	var over bool
	if r.rate, over = p.window.Take(now); over {
		r.kind, r.retryAfter = rateLimited, r.rate.Reset.Sub(now)
		return r
	}
	a := p.byName[monitor.Key(q.account)]
	if q.byID {
		a = p.byID[q.account]
	}
	if a == nil {
		r.kind = notFound
		return r
	}
	r.author, r.suspended, r.protected = social.Author{ID: a.ID, Name: a.Name}, a.suspended, a.protected
	r.kind, r.variant = p.cfg.Faults.draw(a.faults)
	switch r.kind {
	case rateLimited:
		r.retryAfter = faultWait
		return r
	case serverError, html:
		return r
	case nullFields, wrongAuthor:
		if q.lookup {
			r.kind = good
		}
	}
	switch {
	case q.lookup:
	case a.closed():
		r.kind = protected
	default:
		r.posts, r.older = a.page(q, p.cfg.PageSize, now)
	}
	return r
}

// page selects the posts that a request sees.
func (a *account) page(q request, size int, now time.Time) (posts []*post, older bool) {
	if q.Limit > 0 {
		size = min(size, q.Limit)
	}
	// The first post at or above an id.
	from := func(id uint64) int {
		i, _ := slices.BinarySearchFunc(a.posts, id, func(po *post, id uint64) int { return cmp.Compare(po.ID, id) })
		return i
	}
	low, high := 0, len(a.posts)
	if bound := max(q.since, q.min); bound > 0 {
		low = from(bound)
		if low < high && a.posts[low].ID == bound {
			low++
		}
	}
	if q.max > 0 {
		high = from(q.max)
	}
	if q.min > 0 {
		for i := low; i < high && len(posts) < size; i++ {
			if a.posts[i].shown(now) {
				posts = append(posts, a.posts[i].current())
			}
		}
		slices.Reverse(posts)
	} else {
		for i := high - 1; i >= low && len(posts) < size; i-- {
			if a.posts[i].shown(now) {
				posts = append(posts, a.posts[i].current())
			}
		}
	}
	if len(posts) > 0 {
		for i := from(posts[len(posts)-1].ID) - 1; i >= 0 && !older; i-- {
			older = a.posts[i].shown(now)
		}
	}
	return posts, older
}

func (p *Platform) count(k kind, lookup bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.counts[k]++
	if lookup {
		p.lookups++
	}
}

// Timeline implements fetcher.Fetcher. The cursor is the id of the oldest post of the page before. It
// returns fetcher.ErrNotFound for an account that is not on the platform, fetcher.ErrProtected for a
// protected or suspended one, and the errors of Faults.
func (p *Platform) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	req := request{account: q.Username, Limit: q.Limit}
	if q.UserID != "" {
		req.account, req.byID = q.UserID, true
	}
	var ok bool
	if req.max, ok = social.ParseID(q.Cursor); !ok {
		p.count(badRequest, false)
		return fetcher.Page{}, fmt.Errorf("enginetest: Cursor %q is not allowed: want Page.Next of the page before", q.Cursor)
	}
	r, err := p.answer(ctx, req)
	if err == nil {
		err = r.err()
	}
	if err != nil {
		return fetcher.Page{}, fmt.Errorf("enginetest: account %q: %w", req.account, err)
	}
	page := fetcher.Page{UserID: r.author.ID, RateLimit: r.rate, ServerTime: r.now}
	if r.kind == nullFields || r.kind == wrongAuthor {
		po, au := r.bogus()
		t := po.tweet(au)
		if po.ID == 0 {
			t.ID = ""
		}
		page.Tweets = append(page.Tweets, t)
	}
	var reach fetcher.Reach
	for _, po := range r.posts {
		reach.Add(po.published)
		if q.Seen != nil && q.Seen(social.FormatID(po.ID)) {
			page.Skipped++
			continue
		}
		page.Tweets = append(page.Tweets, po.tweet(r.author))
	}
	page.OldestAt = reach.Time()
	if r.older {
		page.Next = social.FormatID(r.posts[len(r.posts)-1].ID)
	}
	return page, nil
}

// err returns the error of package fetcher for a reply, nil for a page.
func (r *reply) err() error {
	switch r.kind {
	case notFound:
		return fetcher.ErrNotFound
	case protected:
		return fetcher.ErrProtected
	case serverError:
		return &fetcher.StatusError{Code: 503, Detail: social.ServerErrorText}
	case truncated:
		return fmt.Errorf("%w: body cut short", fetcher.ErrMalformed)
	case html:
		return fmt.Errorf("%w: HTML in place of JSON", fetcher.ErrMalformed)
	case rateLimited:
		return &fetcher.RateLimitError{RetryAfter: r.retryAfter}
	}
	return nil
}
