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
	// HTTP makes the requests. Defaults to a client that gives up after 30 s. It is
	// never let off to another host.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// MaxBody caps a decompressed answer, in bytes. Defaults to 8 MiB.
	MaxBody int64
	// Expand asks for more than posts. Each part may be billed.
	Expand Expand
	// FirstPage is how many of the newest posts are asked for of an account or a
	// query that is read for the first time: 5 to 100 of an account, 10 to 100 of a
	// query. Each is billed. Defaults to 5, and 10 for a query. A query's Limit goes
	// before.
	FirstPage int
	// AuditEvery is how often an account is read by time instead of from the newest
	// known post on, which finds posts that became visible late. Each audit returns what
	// was posted since the one before once more: free on the same UTC day, and charged
	// for after midnight, 1 % of the posts at 15 min and 4 % at 1 h. With a time shorter
	// than the interval of polls each is an audit, and returns what the overlap has. X
	// calls the once-a-day rule a soft guarantee. Defaults to 15 min; at most 24 h.
	AuditEvery time.Duration
	// QueryLength is how long a search query may be, in characters. Defaults to 512,
	// the bound of self-serve access; Enterprise access has 4,096.
	QueryLength int
	// MaxRemembered is how many accounts and queries are remembered, some 100 bytes
	// each; one that is not is read from its time bound on. Defaults to 100,000.
	MaxRemembered int
	// Now is the clock for rate limits and the day of the bill. Defaults to time.Now.
	Now func() time.Time
}

// Expand asks for records in addition to the posts. X's price list does not say whether they
// are billed; clients of the API report that they are: a user at $0.010, a post at
// $0.005, each once a day. So none is asked for by default.
type Expand struct {
	// Authors asks for the author of each post. Without it a post of a search has none.
	Authors bool
	// Posts asks for the posts that a post reposts, quotes or answers. Without it a post
	// of the Fetcher does not tell which those are, and the text of a repost is cut at
	// 140 characters.
	Posts bool
	// Media, Polls and Places ask for attachments of a post.
	Media, Polls, Places bool
}

const (
	leastPosts, mostPosts   = 5, 100
	defaultAudit, mostAudit = 15 * time.Minute, 24 * time.Hour
	defaultQueryLength      = 512
	mostQueryLength         = 4096
	defaultRemembered       = 100_000
)

// check fills in the defaults and returns an error for a value that is not allowed.
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
