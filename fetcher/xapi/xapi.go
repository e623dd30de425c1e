package xapi

import (
	"github.com/streamwatch/streamwatch/fetcher"
)

// Fetcher reads timelines and searches with the token of one app. A UsersProbe or ListProbe
// made from a Fetcher shares its rate limits and its count of charges. A Fetcher is safe for
// concurrent use.
type Fetcher struct {
	cfg    Config // Token is cleared because fmt prints unexported fields too
	client *client
	users  *users
	bounds *bounds
	asks   string // the query parameters that select the fields of a post
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

// The buckets of calls: endpoints with separate rate limits.
const (
	bucketTimelines = "users/:id/tweets"
	bucketUsers     = "users/by"
	bucketSearch    = "tweets/search/recent"
	bucketProbes    = "users" // or that of a list
)

// Bucket returns the name of the endpoint whose rate limit a call counts against. For the
// timeline of an account without a known id, that endpoint is the look-up of accounts.
func (f *Fetcher) Bucket(c fetcher.Call) string {
	switch {
	case c.Role == fetcher.RoleSearch:
		return bucketSearch
	case c.Role == fetcher.RoleProbe:
		return bucketProbes
	case c.Account.UserID == "" && f.users.known(c.Account.Username) == "":
		return bucketUsers
	}
	return bucketTimelines
}
