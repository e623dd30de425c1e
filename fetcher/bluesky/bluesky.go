package bluesky

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// DefaultBaseURL is Bluesky's public AppView, which needs no key.
const DefaultBaseURL = "https://public.api.bsky.app"

const (
	defaultPageSize = 50  // the lexicons' default
	maxPageSize     = 100 // the lexicons' maximum
)

// Config configures a Fetcher. A zero field means the default.
type Config struct {
	// BaseURL is the AppView. Defaults to DefaultBaseURL.
	BaseURL string
	// PDS is a server that hosts accounts, such as "https://pds.example.com". If PDS is set,
	// the Fetcher reads from this server instead of the AppView, and finds only its accounts.
	PDS string
	// HTTP makes the requests. Defaults to upstream's client, which allows 30 s per
	// request and follows redirects only within the same host.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// PageSize is the number of posts per request, 1 to 100. On a PDS a page is PageSize posts
	// and PageSize reposts. Defaults to 50.
	PageSize int
	// Now returns the time, for rate limits, for the hour after which a DID is forgotten, and
	// for checking record keys if an answer has no Date. Defaults to time.Now.
	Now func() time.Time
}

// Fetcher reads timelines from one AppView or PDS. It is safe for concurrent use.
type Fetcher struct {
	client   *upstream.Client
	pages    *upstream.Pages
	pds      string // scheme and host of Config.PDS; "" if the source is an AppView
	pageSize int
	now      func() time.Time
	dids     *upstream.Names // by handle
}

var _ fetcher.Fetcher = (*Fetcher)(nil)

// New checks cfg and returns a Fetcher. It makes no request.
func New(cfg Config) (*Fetcher, error) {
	if cfg.PageSize == 0 {
		cfg.PageSize = defaultPageSize
	}
	if cfg.PageSize < 1 || cfg.PageSize > maxPageSize {
		return nil, fmt.Errorf("bluesky: PageSize %d is not allowed: want 1 to %d", cfg.PageSize, maxPageSize)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	field, base := "BaseURL", cfg.BaseURL
	switch {
	case cfg.PDS != "":
		field, base = "PDS", cfg.PDS
	case base == "":
		base = DefaultBaseURL
	}
	client, err := upstream.New(upstream.Config{
		BaseURL:   base,
		HTTP:      cfg.HTTP,
		UserAgent: cfg.UserAgent,
		Now:       cfg.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("bluesky: source %s: %w", field, err)
	}
	pages, err := upstream.NewPages(upstream.DefaultMaxPages)
	if err != nil {
		return nil, fmt.Errorf("bluesky: %w", err)
	}
	pds := ""
	if u, err := url.Parse(cfg.PDS); err == nil && u.Host != "" {
		pds = u.Scheme + "://" + u.Host
	}
	return &Fetcher{
		client:   client,
		pages:    pages,
		pds:      pds,
		pageSize: cfg.PageSize,
		now:      cfg.Now,
		dids:     upstream.NewNames(cfg.Now),
	}, nil
}

// account is the owner of a timeline.
type account struct {
	did  string
	name string // the name in the query, for posts without a handle
}

// Timeline reads one page of an account's posts, replies and reposts. It makes one request to
// an AppView or two to a PDS. If the DID is neither in the query nor remembered, it first looks
// up the DID with another request. Errors are those of package fetcher: ErrNotFound for an
// unknown handle or account and, from a PDS, for a deactivated account; ErrProtected if the
// server reports the account as taken down, suspended, deactivated or blocked; ErrUnauthorized
// if the server requires a login; ErrMalformed for an answer that is not a list of posts.
// Page.Unchanged is set if every answer is a 304 or has the same body as before.
func (f *Fetcher) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	who := q.Username
	if who == "" {
		who = q.UserID
	}
	did, err := f.did(ctx, q)
	if err != nil {
		return fetcher.Page{}, fmt.Errorf("bluesky: account %q: %w", who, err)
	}
	var page fetcher.Page
	a := account{did: did, name: who}
	if f.pds != "" {
		page, err = f.records(ctx, a, q)
	} else {
		page, err = f.authorFeed(ctx, a, q)
	}
	if err != nil {
		return fetcher.Page{}, fmt.Errorf("bluesky: account %q: %w", who, err)
	}
	return page, nil
}

// xrpcPath returns the path and query of a call to an XRPC query method.
func xrpcPath(method string, params url.Values) string {
	return "/xrpc/" + method + "?" + params.Encode()
}

// get calls an XRPC query method. The path comes from xrpcPath; header may be nil.
func (f *Fetcher) get(ctx context.Context, path string, header http.Header) (*upstream.Response, error) {
	resp, err := f.client.Get(ctx, path, header)
	if err != nil {
		return nil, xrpcError(err)
	}
	return resp, nil
}

// limit returns the number of posts to request, as text.
func (f *Fetcher) limit(q fetcher.TimelineQuery) string {
	n := f.pageSize
	if q.Limit > 0 {
		n = min(q.Limit, maxPageSize)
	}
	return strconv.Itoa(n)
}

// answeredAt returns the time in an answer's Date header or, without one, the local time.
func (f *Fetcher) answeredAt(resp *upstream.Response) time.Time {
	if !resp.ServerTime.IsZero() {
		return resp.ServerTime
	}
	return f.now()
}
