package webscrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/streamwatch/streamwatch/fetcher"
)

// mayRead returns nil if the robots.txt of u's origin allows u. It returns ErrDisallowed if the
// file does not allow u, and another error if the file cannot be read.
func (s *Scraper) mayRead(ctx context.Context, transport http.RoundTripper, u *url.URL) error {
	allowed, err := s.robots.allowed(ctx, u, func(ctx context.Context, file *url.URL) ([]byte, bool, error) {
		return s.readRobots(ctx, transport, file)
	})
	if err == nil && !allowed {
		err = pageError(u.Host, "robots.txt disallows the page", ErrDisallowed)
	}
	return err
}

// readRobots reads an origin's robots.txt. It follows redirects (RFC 9309, 2.3.1.2), without
// checking the robots.txt of their targets.
func (s *Scraper) readRobots(ctx context.Context, transport http.RoundTripper, file *url.URL) ([]byte, bool, error) {
	a, err := s.get(ctx, transport, file, maxRobots, func(*url.URL) error { return nil })
	var page *fetcher.PageError
	if errors.As(err, &page) {
		page.Reason = strings.Replace(page.Reason, "the page", "robots.txt", 1)
	}
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("webscrape: robots.txt: %w", err)
	case a.status/100 == 2:
		return a.body, true, nil
	case a.status/100 == 4: // "unavailable": RFC 9309, 2.3.1.3
		return nil, false, nil
	}
	return nil, false, pageError(file.Host, "robots.txt answered "+statusLine(a.status), &fetcher.StatusError{Code: a.status})
}
