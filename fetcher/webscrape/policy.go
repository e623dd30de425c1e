package webscrape

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/website"
	"github.com/streamwatch/streamwatch/internal/netguard"
)

const maxURL = 2048 // bytes

// parseURL checks the URL of a page or of a redirect's target. It drops the fragment and
// converts an international host name to its xn-- form. It checks the host as for a webhook.
func (s *Scraper) parseURL(raw string) (*url.URL, error) {
	shown := "***" // a URL that cannot be parsed may have a password anywhere
	refuse := func(allowed string) (*url.URL, error) {
		return nil, fmt.Errorf("webscrape: %w", &fetcher.ArgumentError{Field: "url", Value: shown, Allowed: allowed})
	}
	if raw == "" || len(raw) > maxURL {
		return refuse(fmt.Sprintf("1 to %d bytes", maxURL))
	}
	if strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' }) {
		return refuse("no spaces, control characters and backslashes")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return refuse("a URL such as https://example.com/page")
	}
	shown = cut((&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String(), 200) // less the password and the query
	switch {
	case u.Scheme != "https" && u.Scheme != "http" || u.Host == "":
		return refuse("http:// or https:// and a host")
	case u.User != nil:
		return refuse("no user or password")
	}
	if u.Host, err = website.Host(u, s.cfg.AllowPrivate); err != nil {
		return refuse(err.Error())
	}
	u.Fragment, u.RawFragment = "", ""
	u.RawQuery = normalPath(u.RawQuery)
	if u.Path == "" {
		u.Path = "/"
	}
	return u, nil
}

// transport returns a transport for one call. The call closes the transport's connections at
// its end, because the check of an address must not be reused later.
func (s *Scraper) transport() *http.Transport {
	t := website.Transport(s.cfg.Timeout, s.cfg.AllowPrivate)
	t.MaxIdleConns, t.IdleConnTimeout = 4, 10*time.Second
	return t
}

// fetchError is the error of a failed request.
func fetchError(ctx context.Context, host string, err error) error {
	reason, cause := website.Fault(ctx, err)
	switch {
	case errors.Is(cause, context.Canceled):
		return fmt.Errorf("webscrape: %s: %w", host, cause)
	case errors.Is(cause, website.ErrNoHost):
		cause = fetcher.ErrNotFound
	}
	return fmt.Errorf("webscrape: %s: %w", host, &fetcher.PageError{Reason: reason, Refused: errors.Is(cause, netguard.ErrAddressNotAllowed), Err: cause})
}
