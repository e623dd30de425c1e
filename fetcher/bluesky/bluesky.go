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

// DefaultBaseURL is Bluesky's public AppView, which asks for no key.
const DefaultBaseURL = "https://public.api.bsky.app"

const (
	defaultPageSize = 50  // the lexicons' default
	maxPageSize     = 100 // the lexicons' maximum
)

// Config sets up a Fetcher. The zero value of each field means its default.
type Config struct {
	// BaseURL is the AppView. Defaults to DefaultBaseURL.
	BaseURL string
	// PDS is a server that hosts accounts, such as "https://pds.example.com".
	// If it is set, it is read in place of the AppView, and only the accounts that
	// it hosts are found.
	PDS string
	// HTTP makes the requests. Defaults to upstream's client: 30 s per request,
	// redirects within the same host only.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// PageSize is the number of posts asked for, 1 to 100; on a PDS that many
	// posts and that many reposts. Defaults to 50.
	PageSize int
	// Now is the clock for rate-limit resets, for how long handles are remembered, and for
	// judging record keys when an answer has no Date. Defaults to time.Now.
	Now func() time.Time
}

// Fetcher reads timelines from one AppView or PDS. It is safe for concurrent
// use.
type Fetcher struct {
	client   *upstream.Client
	pages    *upstream.Pages
	pds      string // base address for blobs, "" when the source is an AppView
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
	name string // what to call it when the source sends no handle
}

// Timeline reads one page of an account's posts, replies and reposts: in one
// request from an AppView and two from a PDS, after one more for the DID if
// neither the query nor an earlier call knows it. Errors are those of package
// fetcher: ErrNotFound also for a handle without an account and, from a PDS, for an
// account that is deactivated; ErrProtected for an account of which the server says
// that it is taken down, suspended, deactivated or blocked; ErrUnauthorized for a
// server that wants a login; ErrMalformed for an answer that is not a list of posts.
// Page.Unchanged goes by the server's validators (ETag, Last-Modified) and, where it
// sends none, by the body; from a PDS both lists must be unchanged.
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

// get calls an XRPC query method; the header may be nil.
func (f *Fetcher) get(ctx context.Context, path string, header http.Header) (*upstream.Response, error) {
	resp, err := f.client.Get(ctx, path, header)
	if err != nil {
		return nil, xrpcError(err)
	}
	return resp, nil
}

// limit returns the number of posts to ask for.
func (f *Fetcher) limit(q fetcher.TimelineQuery) string {
	n := f.pageSize
	if q.Limit > 0 {
		n = min(q.Limit, maxPageSize)
	}
	return strconv.Itoa(n)
}

// answeredAt returns the time of an answer, by the server's clock if it has a Date.
func (f *Fetcher) answeredAt(resp *upstream.Response) time.Time {
	if !resp.ServerTime.IsZero() {
		return resp.ServerTime
	}
	return f.now()
}
