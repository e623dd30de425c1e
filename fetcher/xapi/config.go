package xapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// DefaultBaseURL is the API's server.
const DefaultBaseURL = "https://api.x.com"

// Config sets up a Fetcher. The zero value of each field means its default.
type Config struct {
	// BaseURL is the server. Defaults to DefaultBaseURL.
	BaseURL string
	// Token is the bearer token of an app. It prints as ***. Required.
	Token secret.Value
	// HTTP makes the requests. Defaults to a client with a timeout of 30 s. Redirects
	// to another host are never followed.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// MaxBody limits a decompressed answer, in bytes. Defaults to 8 MiB.
	MaxBody int64
	// Expand asks for other records besides posts. Each may be billed.
	Expand Expand
	// FirstPage is how many of the newest posts to ask for when a query has no Since
	// and no Limit, as at the first read of an account: 5 to 100, and at least 10 for a
	// search. Each post is billed. Defaults to 5, or 10 for a search.
	FirstPage int
	// AuditEvery is the interval between audits: reads of an account by time, instead
	// of from the newest known post, to find posts that became visible late. An audit
	// returns the posts since the previous audit again. That is free on the same UTC
	// day (X calls this a soft guarantee). After midnight they are charged again: 1 %
	// of all posts at 15 min, 4 % at 1 h. If AuditEvery is shorter than the interval
	// between polls, each poll is an audit. Defaults to 15 min; at most 24 h.
	AuditEvery time.Duration
	// QueryLength is the length of the longest search query, in characters. Defaults
	// to 512, the limit of self-serve access. Enterprise access allows 4,096.
	QueryLength int
	// MaxRemembered is how many accounts are remembered, at some 100 bytes each. An
	// account that is not remembered is read by time. Defaults to 100,000.
	MaxRemembered int
	// Now is the clock for rate limits and for the day of a charge. Defaults to time.Now.
	Now func() time.Time
}

// Expand selects records to request in addition to posts; by default, none. X's price list
// does not say whether they are billed. Users of the API report that they are: $0.010 for
// an account and $0.005 for a post, each once a day.
type Expand struct {
	// Authors asks for the author of each post. Without it, posts found by a search
	// have no author.
	Authors bool
	// Posts asks for the posts that a post reposts, quotes or answers. Without it, a
	// post from a Fetcher lacks their ids, and a repost's text is cut at 140
	// characters.
	Posts bool
	// Media, Polls and Places ask for the media, polls and places attached to a post.
	Media, Polls, Places bool
}

const (
	leastPosts, mostPosts   = 5, 100
	defaultAudit, mostAudit = 15 * time.Minute, 24 * time.Hour
	defaultQueryLength      = 512
	mostQueryLength         = 4096
	defaultRemembered       = 100_000
)

// check sets the defaults. It returns an error if a value is not allowed.
func (cfg *Config) check() error {
	if cfg.AuditEvery == 0 {
		cfg.AuditEvery = defaultAudit
	}
	if cfg.QueryLength == 0 {
		cfg.QueryLength = defaultQueryLength
	}
	if cfg.MaxRemembered == 0 {
		cfg.MaxRemembered = defaultRemembered
	}
	switch {
	case cfg.FirstPage != 0 && (cfg.FirstPage < leastPosts || cfg.FirstPage > mostPosts):
		return fmt.Errorf("xapi: Config.FirstPage %d is not allowed: want %d to %d posts, or 0 for %d", cfg.FirstPage, leastPosts, mostPosts, leastPosts)
	case cfg.AuditEvery < 0 || cfg.AuditEvery > mostAudit:
		return fmt.Errorf("xapi: Config.AuditEvery %s is not allowed: want more than 0 and at most %s, or 0 for %s", cfg.AuditEvery, mostAudit, defaultAudit)
	case cfg.QueryLength < 1 || cfg.QueryLength > mostQueryLength:
		return fmt.Errorf("xapi: Config.QueryLength %d is not allowed: want 1 to %d characters, or 0 for %d", cfg.QueryLength, mostQueryLength, defaultQueryLength)
	case cfg.MaxRemembered < 0:
		return fmt.Errorf("xapi: Config.MaxRemembered %d is not allowed: want at least 1, or 0 for %d", cfg.MaxRemembered, defaultRemembered)
	}
	return nil
}
