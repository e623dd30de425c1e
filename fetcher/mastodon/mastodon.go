package mastodon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/secret"
)

// maxPageSize is the largest number of posts that the API allows in one answer.
const maxPageSize = 40

// Config configures a Fetcher. A zero field means the default.
type Config struct {
	// BaseURL is the server, such as "https://mastodon.social". Required.
	BaseURL string
	// Token is an access token of the server, sent as a bearer token. Most
	// servers need none. It prints as ***.
	Token secret.Value
	// HTTP makes the requests. Defaults to upstream's client, which allows 30 s per
	// request and follows redirects only within the same host.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent. Server operators want it to name the
	// program and a way to contact its author.
	UserAgent string
	// Visibility is the least visible kind of post that is delivered: public, unlisted, private
	// (for followers) or direct. It matters with a Token, which shows what its user may see.
	// Defaults to unlisted: the posts that anybody can see.
	Visibility string
	// PageSize is the number of posts per request, 1 to 40. Defaults to 40.
	PageSize int
	// MaxBody is the largest allowed size of a decompressed answer, in bytes. Defaults to 8 MiB.
	MaxBody int64
	// MaxPages is the number of accounts whose newest page is remembered, in about 400 bytes
	// each. A remembered page is not decoded again while it stays the same. Defaults to
	// upstream.DefaultMaxPages.
	MaxPages int
	// Now returns the time, for rate limits and for the hour after which an id is forgotten.
	// Defaults to time.Now.
	Now func() time.Time
}

// Fetcher reads timelines of one server. It is safe for concurrent use.
type Fetcher struct {
	client   *upstream.Client
	pages    *upstream.Pages
	names    *upstream.Names
	audience audience
	pageSize int
}

var _ fetcher.Fetcher = (*Fetcher)(nil)

// New checks cfg and returns a Fetcher. It makes no request.
func New(cfg Config) (*Fetcher, error) {
	if cfg.PageSize == 0 {
		cfg.PageSize = maxPageSize
	}
	if cfg.PageSize < 1 || cfg.PageSize > maxPageSize {
		return nil, fmt.Errorf("mastodon: PageSize %d is not allowed: want 1 to %d", cfg.PageSize, maxPageSize)
	}
	heard, err := audienceOf("Visibility", cfg.Visibility)
	if err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	client, err := upstream.New(upstream.Config{
		BaseURL:   cfg.BaseURL,
		Token:     cfg.Token,
		HTTP:      cfg.HTTP,
		UserAgent: cfg.UserAgent,
		MaxBody:   cfg.MaxBody,
		Now:       cfg.Now,
	})
	if err != nil {
		return nil, fmt.Errorf("mastodon: %w", err)
	}
	pages, err := upstream.NewPages(cfg.MaxPages)
	if err != nil {
		return nil, fmt.Errorf("mastodon: %w", err)
	}
	return &Fetcher{client: client, pages: pages, names: upstream.NewNames(cfg.Now), audience: heard, pageSize: cfg.PageSize}, nil
}

// Timeline reads one page of an account's posts in one request. If the account's id is neither
// in the query nor remembered, it first looks up the id with another request. Username may be
// "user" or "user@host". Errors are those of package fetcher: ErrNotFound for an account or
// host that the server does not know; ErrUnauthorized if the server requires a token;
// ErrProtected for a suspended account; ErrMalformed for an answer that is not a list of posts.
// Page.Unchanged is set if the server answers 304 or the body is the same as before.
func (f *Fetcher) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	who := q.Username
	if who == "" {
		who = q.UserID
	}
	page, err := f.timeline(ctx, q)
	if err != nil {
		return fetcher.Page{}, fmt.Errorf("mastodon: account %q: %w", who, err)
	}
	return page, nil
}

func (f *Fetcher) timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	id := q.UserID
	if id == "" {
		var err error
		if id, err = f.accountID(ctx, q.Username); err != nil {
			return fetcher.Page{}, err
		}
	}
	limit := f.pageSize
	if q.Limit > 0 {
		limit = min(q.Limit, limit)
	}
	params := url.Values{"limit": {strconv.Itoa(limit)}}
	if q.Cursor != "" {
		params.Set("max_id", q.Cursor)
	}
	path := "/api/v1/accounts/" + url.PathEscape(id) + "/statuses?" + params.Encode()
	kept := f.pages.Known(path, q)
	resp, err := f.client.Get(ctx, path, kept.Header(0))
	if err != nil {
		return fetcher.Page{}, err
	}
	defer resp.Release()
	if kept.Same(0, resp) {
		return f.pages.Unchanged(kept, resp), nil
	}
	posts, err := decodePage(resp.Body, q.Seen)
	if err != nil {
		return fetcher.Page{}, err
	}
	shown := len(posts.tweets)
	posts.tweets = slices.DeleteFunc(posts.tweets, f.audience.withheld)
	for i := range posts.tweets {
		setAuthor(&posts.tweets[i], id, q.Username)
	}
	page := fetcher.Page{
		Tweets:     posts.tweets,
		Skipped:    posts.skipped,
		Others:     shown - len(posts.tweets),
		OldestAt:   posts.reach.Time(),
		Next:       nextCursor(resp.Header, posts, limit, q.Cursor),
		UserID:     id,
		RateLimit:  resp.RateLimit,
		ServerTime: resp.ServerTime,
	}
	if q.Cursor == "" {
		f.pages.Keep(path, &page, resp)
	}
	return page, nil
}

// setAuthor fills in the author's id or name if the post lacks it. The author is the polled
// account, because a timeline has no posts of other accounts.
func setAuthor(t *fetcher.Tweet, id, username string) {
	if t.UserID == "" {
		t.UserID = id
	}
	if t.Username == "" {
		t.Username = username
	}
}

// accountID returns an account's id from memory, or requests it from the server.
func (f *Fetcher) accountID(ctx context.Context, username string) (string, error) {
	if username == "" {
		return "", errors.New("no account named: want a Username or a UserID")
	}
	if id := f.names.ID(username); id != "" {
		return id, nil
	}
	resp, err := f.client.Get(ctx, "/api/v1/accounts/lookup?"+url.Values{"acct": {username}}.Encode(), nil)
	if err != nil {
		return "", err
	}
	defer resp.Release()
	if !json.Valid(resp.Body) {
		return "", fmt.Errorf("%w: account look-up: not JSON", fetcher.ErrMalformed)
	}
	var found account
	found.decode(bytes.TrimSpace(resp.Body))
	if found.ID == "" {
		return "", fmt.Errorf("%w: account look-up without an id", fetcher.ErrMalformed)
	}
	if found.Suspended {
		return "", fmt.Errorf("%w: the account is suspended", fetcher.ErrProtected)
	}
	f.names.Set(username, string(found.ID))
	return string(found.ID), nil
}
