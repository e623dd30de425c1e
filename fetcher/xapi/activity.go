package xapi

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/secret"
)

// ActivityConfig sets up an Activity. The zero value of each field means its default.
type ActivityConfig struct {
	// BaseURL is the server. Defaults to DefaultBaseURL.
	BaseURL string
	// Token is the bearer token of an app. It prints as ***. Required.
	Token secret.Value
	// HTTP makes the requests; its Timeout must be 0, which would end the connection.
	// It is never let off to another host. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Tag marks the program's own subscriptions: 1 to 100 characters. Those with
	// another tag are left alone. Programs that share an app need a tag each. Defaults
	// to "streamwatch".
	Tag string
	// MaxSubscriptions is how many the app may have, those of other programs
	// included. Defaults to 1,500, the bound of self-serve access; at most 75,000, that
	// of Enterprise access.
	MaxSubscriptions int
	// PostsOnly leaves out deletions: an account takes one subscription instead of
	// two.
	PostsOnly bool
	// Logger logs which accounts are not subscribed to. Defaults to none.
	Logger *slog.Logger
	// Now is the clock for rate limits and the day of the bill. Defaults to time.Now.
	Now func() time.Time
}

const (
	activityPath         = "/2/activity/stream"
	defaultTag           = "streamwatch"
	maxTag               = 100
	defaultSubscriptions = 1500
	mostSubscriptions    = 75_000
)

// Activity is a Streamer that receives the posts of accounts by X's Activity API, within
// a second of their publication: posts, replies, quotes and reposts, and deletions. It is
// safe for concurrent use; each Stream call is one of the two connections that an app may
// have.
//
// It keeps the app's subscriptions in step with the accounts: two for each with a
// known UserID, one if PostsOnly is set. Where MaxSubscriptions allows fewer, deletions give
// way to posts; other accounts are left to polls, and so is one that another program of
// the app has subscribed to, and one until it is subscribed to. X takes 500 new
// subscriptions in 15 minutes. They stay when the connection ends. Subscriptions with
// another tag are not touched.
//
// An edited post is a new post with an id of its own, as on a timeline, and EditTweetIDs
// tells which it replaces. X replays nothing: what was posted while the connection was
// down is found by polls.
//
// Each event is billed, as one of Billed.Events. X's documents say both that a deletion is
// billed (x-api/activity/introduction) and that it is not (x-api/getting-started/pricing);
// it is counted. The polls that look for what a stream has left out return its posts as
// well, and X bills these: a post costs an event and a post, however seldom the polls are.
type Activity struct {
	cfg    ActivityConfig // less the token: fmt looks into unexported fields
	client *client
}

var _ fetcher.Streamer = (*Activity)(nil)

// NewActivity checks cfg and returns an Activity. It makes no request.
func NewActivity(cfg ActivityConfig) (*Activity, error) {
	if cfg.MaxSubscriptions == 0 {
		cfg.MaxSubscriptions = defaultSubscriptions
	}
	if cfg.MaxSubscriptions < 1 || cfg.MaxSubscriptions > mostSubscriptions {
		return nil, fmt.Errorf("xapi: ActivityConfig.MaxSubscriptions %d is not allowed: want 1 to %d, or 0 for %d", cfg.MaxSubscriptions, mostSubscriptions, defaultSubscriptions)
	}
	c, err := streamClient("ActivityConfig", Config{BaseURL: cfg.BaseURL, Token: cfg.Token, HTTP: cfg.HTTP, UserAgent: cfg.UserAgent, Now: cfg.Now}, &cfg.Tag, &cfg.Logger)
	if err != nil {
		return nil, err
	}
	cfg.Token = ""
	return &Activity{cfg: cfg, client: c}, nil
}

// streamClient checks what the settings of both streams have in common, fills in their
// defaults, and returns a client.
func streamClient(name string, cfg Config, tag *string, log **slog.Logger) (*client, error) {
	if *tag == "" {
		*tag = defaultTag
	}
	if *log == nil {
		*log = slog.New(slog.DiscardHandler)
	}
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultClient
	}
	if cfg.Token == "" {
		return nil, fmt.Errorf("xapi: %s.Token is missing: want the bearer token of an app", name)
	}
	if cfg.HTTP.Timeout != 0 {
		return nil, fmt.Errorf("xapi: %s.HTTP with a Timeout of %s is not allowed: want 0, it would end the connection", name, cfg.HTTP.Timeout)
	}
	if len(*tag) > maxTag || strings.ContainsFunc(*tag, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return nil, fmt.Errorf("xapi: %s.Tag %q is not allowed: want 1 to %d characters, or none for %q", name, *tag, maxTag, defaultTag)
	}
	return newClient(&cfg)
}

// Brings reports false for posts of protected accounts, which X never sends.
func (*Activity) Brings(t *fetcher.Tweet) bool {
	return t.User == nil || t.User.Protected == nil || !*t.User.Protected
}

// Stream connects after it has read the app's subscriptions. Without an account with a
// known id it waits for one, and emits only heartbeats.
func (a *Activity) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	s := &subscriptions{client: a.client, tag: a.cfg.Tag, postsOnly: a.cfg.PostsOnly}
	s.upkeep = newUpkeep(s, a.cfg.MaxSubscriptions, a.cfg.Logger)
	s.want(q.Accounts)
	c := &connection{feed: s, upkeep: s.upkeep, emit: emit, follow: func(ctx context.Context) { changing(ctx, q.Changes, s.want) }}
	return a.client.streamEnded("activity stream", c.run(ctx))
}
