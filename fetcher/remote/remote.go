package remote

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/secret"
)

// Config configures a Fetcher. A zero field means the default.
type Config struct {
	// BaseURL is the scheme and host of the other service, such as
	// "https://streams.example.com". Required.
	BaseURL string
	// Key is an API key of the other service. Required. It prints as ***.
	Key secret.Value
	// Segment is the path element after /v1 in the other service's paths. The other service
	// sets it in enginehttp.Options.Segment. Defaults to "social".
	Segment string
	// HTTP makes the requests. Redirects to another host are not followed. Defaults to a
	// client of package upstream with a timeout of 30 s per request.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// MaxBody is the largest allowed size of a decompressed answer, in bytes. Defaults to 8 MiB.
	MaxBody int64
	// MaxPages is the number of accounts whose newest page is remembered. A remembered page is
	// not decoded again while it stays the same. Defaults to upstream.DefaultMaxPages.
	MaxPages int
	// Now is the clock for Retry-After. Defaults to time.Now.
	Now func() time.Time
}

// Fetcher reads timelines through another service. It is safe for concurrent use.
type Fetcher struct {
	service
	pages *upstream.Pages
}

var _ fetcher.Fetcher = (*Fetcher)(nil)

// New checks cfg and returns a Fetcher. It makes no request.
func New(cfg Config) (*Fetcher, error) {
	s, err := newService(upstream.Config{BaseURL: cfg.BaseURL, Token: cfg.Key, HTTP: cfg.HTTP, UserAgent: cfg.UserAgent, MaxBody: cfg.MaxBody, Now: cfg.Now}, cfg.Segment)
	if err != nil {
		return nil, err
	}
	pages, err := upstream.NewPages(cfg.MaxPages)
	if err != nil {
		return nil, fmt.Errorf("remote: %w", err)
	}
	return &Fetcher{s, pages}, nil
}

// Timeline reads one page of an account's posts in one request. q must have a Username.
// Timeline ignores Limit, because the other service decides how many posts a page has. A page
// that reaches back to Since has no Next. Page.RateLimit is not set, because the service's
// limit is refilled continuously and has no window. The package documentation lists the errors.
func (f *Fetcher) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	page, err := f.timeline(ctx, q)
	if err != nil {
		return fetcher.Page{}, fmt.Errorf("remote: account %q: %w", q.Username, meaning(err))
	}
	return page, nil
}

func (f *Fetcher) timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if q.Username == "" {
		return fetcher.Page{}, errors.New("no account named: want a Username")
	}
	if err := CheckAccount(q.Username); err != nil { // it would change the path
		return fetcher.Page{}, fmt.Errorf("%w: want %w", fetcher.ErrNotFound, err)
	}
	path := f.prefix + "/users/" + url.PathEscape(q.Username) + "/latest_tweets"
	if q.Cursor != "" {
		path += "?" + url.Values{"cursor": {q.Cursor}}.Encode()
	}
	kept := f.pages.Known(path, q)
	resp, err := f.client.Get(ctx, path, kept.Header(0))
	if refused := (*fetcher.StatusError)(nil); q.Cursor == "" && errors.As(err, &refused) && refused.Code == http.StatusUnprocessableEntity {
		err = fmt.Errorf("%w: %w", fetcher.ErrNotFound, err) // the service says that no account can have the name
	}
	if err != nil {
		return fetcher.Page{}, err
	}
	defer resp.Release()
	var page fetcher.Page
	if kept.Same(0, resp) {
		page = f.pages.Unchanged(kept, resp)
	} else {
		if page, err = decodePage(resp.Body, q); err != nil {
			return fetcher.Page{}, err
		}
		page.ServerTime = resp.ServerTime
		if q.Cursor == "" {
			f.pages.Keep(path, &page, resp)
		}
	}
	page.RateLimit = fetcher.RateLimit{}
	if !q.Since.IsZero() && !page.OldestAt.IsZero() && page.OldestAt.Before(q.Since) {
		page.Next, page.OldestAt = "", q.Since
	}
	return page, nil
}
