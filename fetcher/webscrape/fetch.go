package webscrape

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/website"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

const maxRedirects = 5

// page is an answer with a 2xx status.
type page struct {
	url         *url.URL // after redirects
	status      int
	contentType string // of the header
	body        []byte
}

// answer is an answer with any status.
type answer struct {
	page
	header http.Header
	over   bool // the body is longer than page.body
}

// fetch reads the page. Before each request, it checks the robots.txt of the URL's origin.
func (s *Scraper) fetch(ctx context.Context, u *url.URL) (*page, error) {
	transport := s.transport()
	defer transport.CloseIdleConnections()
	ask := func(u *url.URL) error { return s.mayRead(ctx, transport, u) }
	if s.cfg.IgnoreRobots {
		ask = func(*url.URL) error { return nil }
	}
	a, err := s.get(ctx, transport, u, s.cfg.MaxBody, ask)
	if err != nil {
		return nil, err
	}
	if err := s.statusError(a); err != nil {
		return nil, err
	}
	if a.over {
		return nil, refuse(a.url.Host, fmt.Sprintf("the page is over %d bytes", s.cfg.MaxBody))
	}
	return &a.page, nil
}

// get requests u and follows redirects. Before each request it checks the URL and calls
// ask with it. It keeps at most limit bytes of the body.
func (s *Scraper) get(ctx context.Context, transport http.RoundTripper, u *url.URL, limit int64, ask func(*url.URL) error) (*answer, error) {
	for hop := 0; ; hop++ {
		if err := ask(u); err != nil {
			return nil, err
		}
		a, next, err := s.once(ctx, transport, u, limit)
		if err != nil || next == "" {
			return a, err
		}
		if hop == maxRedirects {
			return nil, refuse(u.Host, fmt.Sprintf("the page is behind more than %d redirects", maxRedirects))
		}
		ref, err := url.Parse(strings.TrimSpace(next))
		if err != nil {
			return nil, refuse(u.Host, "the page redirects to an invalid URL")
		}
		to, err := s.parseURL(u.ResolveReference(ref).String())
		var argument *fetcher.ArgumentError // not the caller's argument; the caller must not see the redirect's target
		if errors.As(err, &argument) {
			return nil, fmt.Errorf("webscrape: %s: %w", u.Host, &fetcher.PageError{Refused: true, Err: netguard.ErrAddressNotAllowed,
				Reason: "the page redirects to an address that is not allowed: want " + argument.Allowed})
		}
		u = to
	}
}

// once makes one request. For a redirect it returns only the target.
func (s *Scraper) once(ctx context.Context, transport http.RoundTripper, u *url.URL, limit int64) (*answer, string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, "", fmt.Errorf("webscrape: %s: not a URL to request", u.Host)
	}
	req.Header.Set("User-Agent", s.cfg.UserAgent)
	req.Header.Set("Accept", "text/html, application/xhtml+xml, text/plain;q=0.8, */*;q=0.1")
	// Unlike a Client, a Transport follows no redirect, keeps no cookie and sends no Referer.
	resp, err := website.RoundTrip(transport, req)
	if err != nil {
		return nil, "", fetchError(ctx, u.Host, err)
	}
	defer resp.Body.Close()
	switch resp.StatusCode {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		if next := resp.Header.Get("Location"); next != "" {
			io.CopyN(io.Discard, resp.Body, 4<<10) // allows the connection to be reused
			return nil, next, nil
		}
	}
	a := &answer{
		page:   page{url: u, status: resp.StatusCode, contentType: resp.Header.Get("Content-Type")},
		header: resp.Header,
	}
	if resp.StatusCode/100 != 2 {
		return a, "", nil // the body of an error is not used
	}
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, limit+1))
	if int64(len(a.body)) > limit {
		a.body, a.over = a.body[:limit], true
		return a, "", nil
	}
	if encoding := website.EncodingError(""); errors.As(err, &encoding) {
		return nil, "", refuse(u.Host, "the page has "+encoding.Error())
	}
	if err != nil && ctx.Err() == nil {
		return nil, "", pageError(u.Host, "the page's body is cut short", fetcher.ErrMalformed)
	}
	if err != nil {
		return nil, "", fetchError(ctx, u.Host, err)
	}
	return a, "", nil
}

// statusError returns the error of package fetcher for an answer's status, or nil for 2xx.
func (s *Scraper) statusError(a *answer) error {
	if a.status/100 == 2 {
		return nil
	}
	after, _ := upstream.ParseRetryAfter(a.header.Get("Retry-After"), s.cfg.Now())
	var err error = &fetcher.StatusError{Code: a.status, RetryAfter: after}
	switch a.status {
	case http.StatusUnauthorized:
		err = fetcher.ErrUnauthorized
	case http.StatusForbidden:
		err = fetcher.ErrProtected
	case http.StatusNotFound, http.StatusGone:
		err = fetcher.ErrNotFound
	case http.StatusTooManyRequests:
		err = &fetcher.RateLimitError{RetryAfter: after, Target: true}
	}
	return pageError(a.url.Host, "the page answered "+statusLine(a.status), err)
}

// statusLine returns a status with its text, such as "404 Not Found".
func statusLine(status int) string {
	return strings.TrimSpace(strconv.Itoa(status) + " " + http.StatusText(status))
}

// pageError returns a *fetcher.PageError, wrapped to add the host.
func pageError(host, reason string, err error) error {
	return fmt.Errorf("webscrape: %s: %w", host, &fetcher.PageError{Reason: reason, Err: err})
}

// refuse returns the error for a page that cannot be converted.
func refuse(host, reason string) error {
	return fmt.Errorf("webscrape: %s: %w", host, &fetcher.PageError{Reason: reason, Refused: true, Err: fetcher.ErrMalformed})
}

// kind returns the media type of a page. If the server did not send one, kind guesses it from
// the first bytes.
func (p *page) kind() string {
	if strings.TrimSpace(p.contentType) == "" {
		sniffed, _, _ := strings.Cut(http.DetectContentType(p.body), ";")
		return sniffed
	}
	if kind, _, err := mime.ParseMediaType(p.contentType); err == nil {
		return kind
	}
	kind, _, _ := strings.Cut(p.contentType, ";") // the parameters are broken
	return strings.ToLower(strings.TrimSpace(kind))
}
