package feed

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/robots"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// ErrDisallowed: robots.txt closes the feed. It is a fetcher.ErrProtected.
var ErrDisallowed = fmt.Errorf("robots.txt disallows the feed: %w", fetcher.ErrProtected)

// mayRead asks the robots.txt of a URL's origin, if that is wanted.
func (f *Fetcher) mayRead(ctx context.Context, u *url.URL) error {
	if f.robots == nil {
		return nil
	}
	allowed, err := f.robots.Allowed(ctx, u, f.readRobots)
	switch {
	case err != nil:
		return fmt.Errorf("robots.txt: %w", err)
	case !allowed:
		return fmt.Errorf("%s: %w", u.Host, ErrDisallowed)
	}
	return nil
}

// readRobots gets a robots.txt. Its own redirects are followed without asking further
// files (RFC 9309, 2.3.1.2).
func (f *Fetcher) readRobots(ctx context.Context, file *url.URL) (body []byte, found bool, err error) {
	for hop := 0; ; hop++ {
		resp, err := f.once(ctx, file, nil)
		if err != nil {
			return nil, false, err
		}
		next := resp.Header.Get("Location")
		switch {
		case resp.StatusCode/100 == 2:
			body, err = io.ReadAll(io.LimitReader(resp.Body, robots.MaxFile))
			if ctx.Err() == nil {
				err = nil // the start of a file that is cut short counts
			}
		case resp.StatusCode/100 == 3 && next != "" && hop < maxRedirects:
			resp.Body.Close()
			if file, err = f.redirect(file, next); err != nil {
				return nil, false, err
			}
			continue
		case resp.StatusCode/100 != 4: // 4xx is "unavailable": RFC 9309, 2.3.1.3
			wait, _ := upstream.ParseRetryAfter(resp.Header.Get("Retry-After"), f.cfg.Now())
			err = fmt.Errorf("%s: %w", file.Host, &fetcher.StatusError{Code: resp.StatusCode, RetryAfter: wait, Detail: http.StatusText(resp.StatusCode)})
		}
		resp.Body.Close()
		return body, resp.StatusCode/100 == 2, err
	}
}
