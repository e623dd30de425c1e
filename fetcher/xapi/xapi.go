package xapi

import (
	"github.com/streamwatch/streamwatch/fetcher"
)

// Fetcher reads timelines and searches of one app's access. It is safe for concurrent
// use. Its probes share its limits and its bill.
type Fetcher struct {
	cfg    Config // less the token
	client *client
	users  *users
	bounds *bounds
	asks   string // the parameters that select the members of a post
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
	return &Fetcher{cfg: cfg, client: c, asks: restNames.query(cfg.Expand).Encode(), users: newUsers(c, cfg.MaxRemembered),
		bounds: newBounds(cfg.MaxRemembered, cfg.AuditEvery)}, nil
}

// Buckets of calls: the endpoints that limits are counted by.
const (
	bucketTimelines = "users/:id/tweets"
	bucketUsers     = "users/by"
	bucketSearch    = "tweets/search/recent"
)

// Bucket names the endpoint that a call counts against. A timeline of an account
// without a known id counts against the look-up of accounts.
func (f *Fetcher) Bucket(c fetcher.Call) string {
	switch {
	case c.Role == fetcher.RoleSearch:
		return bucketSearch
	case c.Account.UserID == "" && f.users.known(c.Account.Username) == "":
		return bucketUsers
	}
	return bucketTimelines
}
