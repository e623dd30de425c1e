package xapi

import (
	"context"
	"fmt"
	"net/url"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Fetcher reads timelines and searches of one app's access. It is safe for concurrent
// use. What is made of it, such as a probe, shares its limits and its bill.
type Fetcher struct {
	cfg    Config // less the token
	client *client
	users  *users
	bounds *bounds
	names  *dialects
}

var (
	_ fetcher.Fetcher  = (*Fetcher)(nil)
	_ fetcher.Bucketer = (*Fetcher)(nil)
)

// New checks cfg and returns a Fetcher. It makes no request.
func New(cfg Config) (*Fetcher, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	c, err := newClient(&cfg)
	if err != nil {
		return nil, err
	}
	cfg.Token = ""
	names := &dialects{fixed: cfg.Names}
	return &Fetcher{cfg: cfg, client: c, names: names, users: newUsers(c, names, cfg.MaxRemembered), bounds: newBounds(cfg.MaxRemembered)}, nil
}

// Buckets of calls: the endpoints that limits are counted by.
const (
	bucketTimelines = "users/:id/tweets"
	bucketUsers     = "users/by"
	bucketSearch    = "tweets/search/recent"
)

// Bucket names the endpoint that a call counts against. A timeline of an account whose
// id is not known counts against the look-up of accounts.
func (f *Fetcher) Bucket(c fetcher.Call) string {
	switch {
	case c.Role == fetcher.RoleSearch:
		return bucketSearch
	case c.Account.UserID == "" && f.users.known(c.Account.Username) == "":
		return bucketUsers
	}
	return bucketTimelines
}

// read requests an endpoint in the names that it takes.
func (f *Fetcher) read(ctx context.Context, endpoint, path string, query func(Names) url.Values) (*answer, *document, error) {
	a, err := f.names.get(ctx, f.client, endpoint, path, query)
	if err != nil {
		return nil, nil, err
	}
	d, err := decodeDocument(a.body)
	if err != nil {
		return nil, nil, fmt.Errorf("xapi: %s: %w", endpoint, err)
	}
	return a, d, nil
}
