package xapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/secret"
)

// FilteredStreamConfig sets up a FilteredStream. The zero value of each field means its
// default.
type FilteredStreamConfig struct {
	// BaseURL is the server. Defaults to DefaultBaseURL.
	BaseURL string
	// Token is the bearer token of an app. It prints as ***. Required.
	Token secret.Value
	// HTTP makes the requests; its Timeout must be 0, which would end the connection.
	// It is never let off to another host. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Tag begins the tags of the program's own rules: 1 to 100 characters. Rules with
	// other tags are left alone. Defaults to "streamwatch".
	Tag string
	// MaxRules is how many rules the app may have, those of other programs included.
	// Defaults to 1,000, the bound of self-serve access; at most 25,000.
	MaxRules int
	// RuleLength is how long a rule may be, in characters. Defaults to 1,024, the
	// bound of self-serve access; at most 2,048.
	RuleLength int
	// Expand asks for more than posts. Each part may be billed.
	Expand Expand
	// Fetcher, if there is one of the same app, shares its bill: a post that both
	// return is counted once.
	Fetcher *Fetcher
	// Logger logs which queries no rule is made of, and connections that are
	// ended. Defaults to none.
	Logger *slog.Logger
	// Now is the clock for rate limits and the day of the bill. Defaults to time.Now.
	Now func() time.Time
}

const (
	filteredPath      = "/2/tweets/search/stream"
	rulesPath         = "/2/tweets/search/stream/rules"
	defaultRules      = 1000
	mostRules         = 25_000
	defaultRuleLength = 1024
	mostRuleLength    = 2048
)

// FilteredStream is a Streamer of queries, for fetcher.Roles.SearchStream: it receives
// the posts that match them by X's filtered stream, some seconds after their publication
// (6 to 7 s for the slowest in a hundred, by X's documents), in no order and some of them
// twice. It is safe for concurrent use, but X lets an app have one connection.
//
// It keeps the app's rules in step with the queries. A rule's tag is Config.Tag, a colon
// and a hash of the rule; rules with other tags are not touched. What no rule can say
// exactly, is longer than RuleLength or a rule of another program already, and queries
// beyond MaxRules are left to searches. A rule is in force 20 s after it was made.
//
// When X says that there is a connection already, as after one that broke off without
// X's knowledge, those of the app's filtered stream are ended, once in each attempt: a
// second program on the same app loses its own.
//
// Each post is billed, as one of Billed.Posts, and so may be what Expand asks for. X
// replays nothing without Enterprise access: what was posted while the connection was
// down is found by searches.
type FilteredStream struct {
	cfg    FilteredStreamConfig // less the token: fmt looks into unexported fields
	client *client
	texts  translations
	used   atomic.Int64 // Unix nanoseconds: when the newest rule is in force
}

var _ fetcher.Streamer = (*FilteredStream)(nil)

// NewFilteredStream checks cfg and returns a FilteredStream. It makes no request.
func NewFilteredStream(cfg FilteredStreamConfig) (*FilteredStream, error) {
	if cfg.MaxRules == 0 {
		cfg.MaxRules = defaultRules
	}
	if cfg.RuleLength == 0 {
		cfg.RuleLength = defaultRuleLength
	}
	switch {
	case cfg.MaxRules < 1 || cfg.MaxRules > mostRules:
		return nil, fmt.Errorf("xapi: FilteredStreamConfig.MaxRules %d is not allowed: want 1 to %d, or 0 for %d", cfg.MaxRules, mostRules, defaultRules)
	case cfg.RuleLength < 1 || cfg.RuleLength > mostRuleLength:
		return nil, fmt.Errorf("xapi: FilteredStreamConfig.RuleLength %d is not allowed: want 1 to %d characters, or 0 for %d", cfg.RuleLength, mostRuleLength, defaultRuleLength)
	}
	c, err := streamClient("FilteredStreamConfig", Config{BaseURL: cfg.BaseURL, Token: cfg.Token, HTTP: cfg.HTTP, UserAgent: cfg.UserAgent, Now: cfg.Now}, &cfg.Tag, &cfg.Logger)
	if err != nil {
		return nil, err
	}
	cfg.Token = ""
	if cfg.Fetcher != nil {
		c.ledger = cfg.Fetcher.client.ledger
	}
	return &FilteredStream{cfg: cfg, client: c, texts: translations{most: cfg.RuleLength, log: cfg.Logger}}, nil
}

// Brings returns true: X sends every post that a rule matches.
func (*FilteredStream) Brings(*fetcher.Tweet) bool { return true }

// Stream connects after it has read the app's rules, and made those that are missing.
// Without a query that a rule can be made of it waits for one, and emits only
// heartbeats.
func (f *FilteredStream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	r := &rules{client: f.client, tag: f.cfg.Tag, asks: streamNames.query(f.cfg.Expand).Encode(), log: f.cfg.Logger, used: &f.used}
	r.upkeep = newUpkeep(r, f.cfg.MaxRules, f.cfg.Logger)
	want := func(queries []fetcher.SearchQuery) { r.want(f.texts.of(f.cfg.Tag, queries)) }
	want(q.Queries)
	c := &connection{feed: r, upkeep: r.upkeep, emit: emit, follow: func(ctx context.Context) { changing(ctx, q.QueryChanges, want) }}
	return f.client.streamEnded("filtered stream", c.run(ctx))
}
