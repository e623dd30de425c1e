package xapi

import (
	"fmt"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// DefaultBaseURL is the API's server.
const DefaultBaseURL = "https://api.x.com"

// Config configures a Fetcher. A zero field means the default.
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
	// MaxBody is the largest allowed size of a decompressed answer, in bytes. Defaults to 8 MiB.
	MaxBody int64
	// Expand selects records to request besides posts. X may bill each of them.
	Expand Expand
	// FirstPage is the number of posts to request for a query without Since and Limit, for
	// example at the first read of an account. X bills each post. FirstPage is 5 to 100; a
	// search requests at least 10. Defaults to 5, or 10 for a search.
	FirstPage int
	// AuditEvery is the interval between audits. An audit reads an account by time instead of
	// from the newest known post, to find posts that became visible late. It returns the posts
	// since the previous audit again. Within the same UTC day that is free; X calls this a soft
	// guarantee. After midnight X charges for these posts again: 1 % of all posts at an
	// interval of 15 min, 4 % at 1 h. If AuditEvery is shorter than the interval between polls,
	// each poll is an audit. Defaults to 15 min; at most 24 h.
	AuditEvery time.Duration
	// QueryLength is the largest allowed length of a search query, in characters. Defaults to
	// 512, the limit of self-serve access. Enterprise access allows 4,096.
	QueryLength int
	// MaxRemembered is the largest number of accounts that the Fetcher remembers, in about 100
	// bytes each. It reads an account that it does not remember by time, as in an audit.
	// Defaults to 100,000.
	MaxRemembered int
	// Now returns the time, for rate limits and for the day of a charge. Defaults to time.Now.
	Now func() time.Time
}

// Expand selects records to request in addition to posts; by default, none. X's price list does
// not say whether X bills them. Users of the API report that it does: $0.010 for an account and
// $0.005 for a post, each once a day.
type Expand struct {
	// Authors asks for the author of each post. Without it, posts found by a search
	// have no author.
	Authors bool
	// Posts asks for the original posts of reposts, quotes and replies. Without it, a post from
	// a Fetcher lacks the ids of these posts, and a repost's text is cut at 140 characters.
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
