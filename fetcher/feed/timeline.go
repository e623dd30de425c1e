package feed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/website"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// Timeline reads the feed with the URL q.Username or, if q.Cursor is set, a page of older
// entries. It returns *fetcher.ArgumentError if the URL is not allowed, and
// netguard.ErrAddressNotAllowed if the host's address is not public. Errors of package fetcher
// are ErrNotFound (404, or 410 for six hours), ErrUnauthorized (401), ErrProtected (403),
// *RateLimitError (429, or it is too early for a request to the host), *StatusError for any
// other status, and ErrMalformed for a document that is not a feed or is too large.
func (f *Fetcher) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	a, err := f.account(q.Username)
	if err != nil {
		return fetcher.Page{}, err
	}
	if err := ctx.Err(); err != nil {
		return fetcher.Page{}, fmt.Errorf("feed: %s: %w", a.url.Host, err)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	page, err := f.timeline(ctx, a, q)
	if err != nil {
		return fetcher.Page{}, fmt.Errorf("feed: %w", err)
	}
	return page, nil
}

func (f *Fetcher) timeline(ctx context.Context, a *account, q fetcher.TimelineQuery) (fetcher.Page, error) {
	s := f.state(a)
	known, now := s.get(), f.cfg.Now()
	if wait := known.closed.Sub(now); wait > 0 {
		return fetcher.Page{}, fmt.Errorf("%s: %w", a.url.Host, known.refusal(wait))
	}
	start := a.url
	if known.moved != nil {
		start = known.moved
	}
	if q.Cursor != "" {
		u, err := parseURL(q.Cursor, maxURL, f.cfg.AllowPrivate)
		if err != nil {
			return fetcher.Page{}, &fetcher.ArgumentError{Field: "cursor", Value: upstream.PlainURL(q.Cursor), Allowed: "a Page.Next"}
		}
		start = u
	} else if now.Before(known.pause) {
		if kept := f.pages.Known(a.id, q); kept != nil {
			page := f.pages.Unchanged(kept)
			page.AsOf = known.asked
			return page, nil
		}
	}
	return f.read(ctx, a, s, start, q)
}

// read requests a document and returns its entries as a page.
func (f *Fetcher) read(ctx context.Context, a *account, s *state, start *url.URL, q fetcher.TimelineQuery) (fetcher.Page, error) {
	older, asked := q.Cursor != "", f.cfg.Now()
	kept, validated, conditional := f.pages.Known(a.id, q), s.get().validated, false
	got, err := f.get(ctx, a, start, older, func(u *url.URL) (condition http.Header) {
		if validated.by(u, q.Known) {
			condition = kept.Header(0)
		}
		conditional = condition != nil
		return condition
	})
	if err != nil {
		var limit *fetcher.RateLimitError
		switch {
		case errors.As(err, &limit) && !older: // too early: the next poll waits for its turn at the right host
			s.set(func(p *polled) { p.pause, p.moved, p.via = time.Time{}, cmp.Or(got.moved, p.moved), got.via })
		case ctx.Err() == nil && limit == nil:
			s.set(func(p *polled) { p.moved = nil }) // the feed may no longer be at the redirect's target
		}
		return fetcher.Page{}, err
	}
	defer got.Body.Close()
	resp := &upstream.Response{Header: got.Header, RateLimit: upstream.ParseRateLimit(got.Header, f.cfg.Now())}
	resp.ServerTime, _ = http.ParseTime(got.Header.Get("Date"))
	defer resp.Release()
	known := s.get()
	moved := known.moved
	if got.moved != nil && !older {
		moved = got.moved
	}
	if got.url.Host != a.bucket(moved) { // whose limit it is not
		resp.RateLimit = fetcher.RateLimit{}
	}
	resp.NotModified = got.StatusCode == http.StatusNotModified && conditional
	if !resp.NotModified && got.StatusCode/100 != 2 {
		return fetcher.Page{}, fmt.Errorf("%s: %w", got.url.Host, f.refused(a, s, older, got))
	}
	whole := true
	if !resp.NotModified {
		if whole, err = f.body(ctx, got, resp); err != nil {
			return fetcher.Page{}, err
		}
	}
	if kept.Same(0, resp) {
		s.set(func(p *polled) {
			f.answered(p, got, asked)
			p.validated = validators{got.url, q.Known}
		})
		page := f.pages.Unchanged(kept, resp)
		page.ServerTime = time.Time{} // other clocks set the entries' times, and a cache keeps an old Date
		return page, nil
	}
	doc, err := parse(resp.Body, got.Header, got.url)
	if err != nil {
		s.set(func(p *polled) { p.moved = nil }) // the redirect's target may be a web page
		return fetcher.Page{}, fmt.Errorf("%s: %w", got.url.Host, err)
	}
	doc.cut = doc.cut || !whole
	posts, err := f.posts(ctx, a, doc, older, q.Seen)
	if err != nil {
		return fetcher.Page{}, err
	}
	page := fetcher.Page{Tweets: posts.tweets, Skipped: posts.skipped, OldestAt: posts.oldest, Next: doc.nextPage(got.url),
		UserID: a.id, RateLimit: resp.RateLimit}
	if !older {
		s.set(func(p *polled) {
			for range doc.lost - p.lost { // the engine counts and reports a post without an id
				page.Tweets = append(page.Tweets, fetcher.Tweet{Username: a.name, UserID: a.id})
			}
			p.doc, p.lost = doc.pauses, doc.lost
			f.answered(p, got, asked)
		})
		f.named(a, s, f.topicOf(doc, got.url))
		f.keep(a, s, got, resp, &page, whole)
	}
	return page, nil
}

// keep remembers a page, so that a later poll can detect that the page is unchanged. It does
// nothing if the body was cut off: the next request must return the full page.
func (f *Fetcher) keep(a *account, s *state, got *answer, resp *upstream.Response, page *fetcher.Page, whole bool) {
	if !whole {
		return
	}
	f.pages.Keep(a.id, page, resp)
	s.set(func(p *polled) { p.validated = validators{got.url, page.Version} })
}

// validators records the URL whose answer had the remembered page's validators. They are sent
// to that URL only, because redirects may lead to a different URL each time.
type validators struct {
	from *url.URL
	of   uint64 // the page's Version
}

// by reports whether the validators came from u and belong to this version of the page.
func (v validators) by(u *url.URL, version uint64) bool {
	return v.from != nil && v.of == version && *v.from == *u
}

// answered updates p after a successful answer to a request for the newest entries.
func (f *Fetcher) answered(p *polled, got *answer, asked time.Time) {
	p.asked, p.gone, p.closed, p.why, p.via = asked, time.Time{}, time.Time{}, nil, got.via
	if got.moved != nil {
		p.moved = got.moved
	}
	p.pause = time.Time{}
	if f.cfg.MaxPause > 0 {
		p.pause = p.doc.until(got.Header, asked, f.cfg.MaxPause)
	}
}

// nextPage returns the URL of older entries if it is on the feed's host, otherwise "".
func (d *document) nextPage(from *url.URL) string {
	u, err := url.Parse(d.next)
	if err != nil || len(d.next) > maxURL || u.Host != from.Host || u.Scheme != from.Scheme || d.next == from.String() {
		return ""
	}
	return d.next
}

// Bucket returns the host of an account's feed: see fetcher.Bucketer.
func (f *Fetcher) Bucket(c fetcher.Call) string {
	a, err := f.account(c.Account.Username)
	if err != nil {
		return "?"
	}
	f.mu.Lock()
	s := f.feeds[a.id]
	f.mu.Unlock()
	if s == nil {
		return a.bucket(nil)
	}
	return a.bucket(s.get().moved)
}

// Turn asks for the turn of a feed at its host: see fetcher.Turner. A poll that is answered from
// memory needs none.
func (f *Fetcher) Turn(c fetcher.Call, owners []string) time.Duration {
	a, err := f.account(c.Account.Username)
	if err != nil {
		return 0
	}
	s := f.state(a)
	known, now := s.get(), f.cfg.Now()
	if now.Before(known.closed) || now.Before(known.pause) {
		return 0
	}
	for _, host := range []string{known.via, a.bucket(known.moved)} {
		if host == "" {
			continue
		}
		if pause := f.hosts.turn(host, a.id, owners, known.turn, false, time.Now()); pause > 0 {
			return pause
		}
	}
	s.set(func(p *polled) { p.turn = time.Now() })
	return 0
}

// bucket returns the host whose rate limit applies to a feed: the host of moved or, if moved is
// nil, of the feed's URL.
func (a *account) bucket(moved *url.URL) string {
	if moved != nil {
		return moved.Host
	}
	return a.url.Host
}

// body reads a body, and reports whether it was complete.
func (f *Fetcher) body(ctx context.Context, got *answer, resp *upstream.Response) (whole bool, err error) {
	err = resp.Fill(got.Body, got.ContentLength, f.cfg.MaxBody)
	var late interface{ Timeout() bool }
	var encoding website.EncodingError
	switch {
	case ctx.Err() != nil || errors.As(err, &late) && late.Timeout():
		return false, requestError(ctx, got.url.Host, err)
	case errors.As(err, &encoding):
		return false, malformed("the feed has %v", encoding)
	case int64(len(resp.Body)) > f.cfg.MaxBody:
		return false, malformed("the feed is over %d bytes", f.cfg.MaxBody)
	}
	return err == nil, nil
}
