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

// FilteredStreamConfig configures a FilteredStream. A zero field means the default.
type FilteredStreamConfig struct {
	// BaseURL is the server. Defaults to DefaultBaseURL.
	BaseURL string
	// Token is the bearer token of an app. It prints as ***. Required.
	Token secret.Value
	// HTTP makes the requests. Its Timeout must be 0, because a timeout would end the stream.
	// Redirects to another host are never followed. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Tag is the prefix of the tags of this program's rules: 1 to 100 characters. Rules
	// with other tags are not changed. Defaults to "streamwatch".
	Tag string
	// MaxRules is the largest number of rules that the app may have, including those of other
	// programs. Defaults to 1,000, the limit of self-serve access; at most 25,000.
	MaxRules int
	// RuleLength is the largest allowed length of a rule, in characters. Defaults to 1,024, the
	// limit of self-serve access; at most 2,048.
	RuleLength int
	// Expand selects records to request besides posts. X may bill each of them.
	Expand Expand
	// Fetcher is the Fetcher of the same app, or nil. The stream and the Fetcher then share one
	// count of charges: a post that both return is counted once.
	Fetcher *Fetcher
	// Logger receives a message for each query without a rule, and before Stream ends the app's
	// connections. Defaults to no logging.
	Logger *slog.Logger
	// Now returns the time, for rate limits and for the day of a charge. Defaults to time.Now.
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

// FilteredStream is a Streamer for fetcher.Roles.SearchStream. It receives the posts that match
// queries from X's filtered stream, some seconds after their publication (99 % of them within 6
// to 7 s, according to X). Posts come in no particular order, and some come twice. A
// FilteredStream is safe for concurrent use, but X allows an app only one connection.
//
// It adds and deletes the app's rules to match the queries. The tag of such a rule is
// FilteredStreamConfig.Tag, a colon and a hash of the rule; rules with other tags are not
// changed. The engine searches for a query that has no rule. A query has none if no rule
// matches exactly the same posts, if the rule is longer than RuleLength or belongs to another
// program, or if MaxRules is reached. X uses a rule 20 s after its creation.
//
// X reports too many connections if it has not noticed that the last one broke. Each call of
// Stream then ends the app's connections once and tries again. This also ends the connection of
// another program that uses the filtered stream of the same app.
//
// Billed.Posts counts each post; X may also bill the records in Expand. Without Enterprise
// access X does not send the posts made while the connection was down; searches find them.
type FilteredStream struct {
	cfg    FilteredStreamConfig // Token is cleared because fmt prints unexported fields too
	client *client
	texts  translations
	used   atomic.Int64 // when X starts to use the newest rule, in Unix nanoseconds
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

// Brings returns true, because X sends every post that a rule matches.
func (*FilteredStream) Brings(*fetcher.Tweet) bool { return true }

// Stream lists the app's rules, adds the missing ones and connects. If no query has a rule, it
// does not connect: it emits heartbeats until a query has one, and then returns
// fetcher.ErrResubscribe.
func (f *FilteredStream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	r := &rules{client: f.client, tag: f.cfg.Tag, asks: streamNames.query(f.cfg.Expand).Encode(), log: f.cfg.Logger, used: &f.used}
	r.upkeep = newUpkeep(r, f.cfg.MaxRules, f.cfg.Logger)
	want := func(queries []fetcher.SearchQuery) { r.want(f.texts.of(f.cfg.Tag, queries)) }
	want(q.Queries)
	c := &connection{feed: r, upkeep: r.upkeep, emit: emit, follow: func(ctx context.Context) { changing(ctx, q.QueryChanges, want) }}
	return f.client.streamEnded("filtered stream", c.run(ctx))
}
