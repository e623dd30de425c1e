package feed

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/website"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

const (
	maxRedirects = 5
	accept       = "application/atom+xml, application/rss+xml, application/feed+json, application/rdf+xml, application/xml;q=0.9, text/xml;q=0.9, application/json;q=0.8, */*;q=0.1"
)

// answer is an answer with any status.
type answer struct {
	*http.Response
	url   *url.URL // after redirects
	moved *url.URL // target of the permanent redirects before any other redirect; nil if none
	via   string   // the other host to which redirects lead, "" if there is none
}

// get requests a URL of a feed and follows redirects. It waits for a turn at each host. For each URL
// that it requests, it calls condition, which returns the header for a conditional request.
func (f *Fetcher) get(ctx context.Context, of *account, u *url.URL, older bool, condition func(*url.URL) http.Header) (*answer, error) {
	a, start := &answer{}, u
	permanent := true
	for hop := 0; ; hop++ {
		var err error
		if own := u.Host == start.Host; own && (hop > 0 || older) {
			err = f.hosts.waitNext(ctx, u.Host)
		} else {
			if !own {
				a.via = u.Host
			}
			err = f.hosts.wait(ctx, u.Host, of.id)
		}
		if err != nil {
			return a, err
		}
		resp, err := f.once(ctx, u, condition(u))
		if err != nil {
			return a, err
		}
		next := resp.Header.Get("Location")
		switch resp.StatusCode {
		case http.StatusMovedPermanently, http.StatusPermanentRedirect:
		case http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect:
			permanent = false
		default:
			next = ""
		}
		if next == "" {
			a.Response, a.url = resp, u
			return a, nil
		}
		resp.Body.Close()
		if hop == maxRedirects {
			return a, fmt.Errorf("%s: more than %d redirects", u.Host, maxRedirects)
		}
		if u, err = f.redirect(u, next); err != nil {
			return a, err
		}
		if permanent {
			a.moved = u
		}
	}
}

// redirect returns the target of a redirect, or an error if it is not allowed as a feed's URL.
func (f *Fetcher) redirect(from *url.URL, location string) (*url.URL, error) {
	ref, err := url.Parse(strings.TrimSpace(location))
	if err != nil {
		return nil, fmt.Errorf("%s: redirect to what is no URL", from.Host)
	}
	to, err := parseURL(from.ResolveReference(ref).String(), maxURL, f.cfg.AllowPrivate)
	if err != nil {
		return nil, fmt.Errorf("%s: redirect that is not followed: want %w", from.Host, err)
	}
	return to, nil
}

// once makes one request.
func (f *Fetcher) once(ctx context.Context, u *url.URL, condition http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("%s: not a URL to request", u.Host)
	}
	req.Header.Set("User-Agent", f.cfg.UserAgent)
	req.Header.Set("Accept", accept)
	for name, values := range condition {
		req.Header[name] = values
	}
	// Unlike a Client, a Transport follows no redirect, keeps no cookie and sends no Referer.
	resp, err := website.RoundTrip(f.cfg.Transport, req)
	if err != nil {
		return nil, requestError(ctx, u.Host, err)
	}
	return resp, nil
}

// requestError returns the error for a failed request. The error contains neither the URL nor
// an IP address.
func requestError(ctx context.Context, host string, err error) error {
	reason, cause := website.Fault(ctx, err)
	if cause == nil {
		return fmt.Errorf("%s: %s", host, reason)
	}
	return fmt.Errorf("%s: %s: %w", host, reason, cause)
}

const (
	goneAfter   = 6 * time.Hour    // time of 410 answers after which a feed counts as gone
	missingWait = 15 * time.Minute // wait after a feed was not found or access was denied
	goneWait    = 24 * time.Hour
)

// refused returns the error for an answer outside 2xx. It also updates the feed's state, unless
// older is set.
func (f *Fetcher) refused(a *account, s *state, older bool, resp *answer) error {
	now := f.cfg.Now()
	if strings.Contains(resp.Header.Get("Content-Type"), "html") { // the error must not quote it
		resp.Body = io.NopCloser(strings.NewReader(http.StatusText(resp.StatusCode)))
	}
	err := upstream.AnswerError(resp.Response, now, "")
	wait, _ := upstream.ParseRetryAfter(resp.Header.Get("Retry-After"), now)
	gone, moved := time.Time{}, (*url.URL)(nil)
	var limit *fetcher.RateLimitError
	switch {
	case resp.StatusCode == http.StatusGone:
		if gone = s.get().gone; gone.IsZero() {
			gone = now
		}
		if err = goneError(gone, now, wait); !older {
			wait = fetcher.RetryAfter(err) // which is longer than an engine waits
		}
	case errors.Is(err, fetcher.ErrNotFound), errors.Is(err, fetcher.ErrProtected), errors.Is(err, fetcher.ErrUnauthorized):
		err = fmt.Errorf("%w: %w", err, &fetcher.StatusError{Code: resp.StatusCode, RetryAfter: max(wait, missingWait)})
	case errors.As(err, &limit):
		wait, moved = limit.RetryAfter, s.get().moved // the host is there
		limit.Target = resp.url.Host != a.bucket(moved)
	}
	if !older {
		s.set(func(p *polled) { p.gone, p.moved = gone, moved })
	}
	switch {
	case wait > 0 && !older:
		s.close(now.Add(wait), err)
	case wait > 0:
		s.close(now.Add(wait), nil)
	}
	return err
}

// goneError returns the error for a 410. Because servers send 410 by mistake, it is ErrNotFound
// only after goneAfter.
func goneError(since, now time.Time, wait time.Duration) error {
	if now.Sub(since) < goneAfter {
		return &fetcher.StatusError{Code: http.StatusGone, RetryAfter: max(wait, time.Hour), Detail: "gone; believed when it stays so for hours"}
	}
	return fmt.Errorf("%w: the publisher has removed the feed (410 since %s): %w", fetcher.ErrNotFound,
		since.UTC().Format(time.RFC3339), &fetcher.StatusError{Code: http.StatusGone, RetryAfter: max(wait, goneWait)})
}
