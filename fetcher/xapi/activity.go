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

// ActivityConfig configures an Activity. A zero field means the default.
type ActivityConfig struct {
	// BaseURL is the server. Defaults to DefaultBaseURL.
	BaseURL string
	// Token is the bearer token of an app. It prints as ***. Required.
	Token secret.Value
	// HTTP makes the requests. Its Timeout must be 0, because a timeout would end the stream.
	// Redirects to another host are never followed. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Tag is the tag of this program's subscriptions: 1 to 100 characters. Subscriptions
	// with other tags are not changed. Programs that share an app need different tags.
	// Defaults to "streamwatch".
	Tag string
	// MaxSubscriptions is the largest number of subscriptions that the app may have, including
	// those of other programs. Defaults to 1,500, the limit of self-serve access; at most
	// 75,000, the limit of Enterprise access.
	MaxSubscriptions int
	// PostsOnly leaves out deletions. An account then needs one subscription instead of two.
	PostsOnly bool
	// Logger receives a message when X refuses subscriptions, or when there are too many.
	// Defaults to no logging.
	Logger *slog.Logger
	// Now returns the time, for rate limits and for the day of a charge. Defaults to time.Now.
	Now func() time.Time
}

const (
	activityPath         = "/2/activity/stream"
	defaultTag           = "streamwatch"
	maxTag               = 100
	defaultSubscriptions = 1500
	mostSubscriptions    = 75_000
)

// Activity is a Streamer that receives the posts, replies, quotes, reposts and deletions of
// accounts from X's Activity API, within a second of their publication. It is safe for
// concurrent use. X allows an app two connections; each call of Stream uses one.
//
// It adds and deletes the app's subscriptions to match the accounts. An account with a known
// UserID needs two subscriptions, or one if PostsOnly is set. If MaxSubscriptions is too low,
// subscriptions to posts have priority over those to deletions. The engine polls accounts without
// a subscription. These include the accounts that another program of the app has subscribed to. X
// accepts 500 new subscriptions in 15 minutes. Subscriptions remain after the connection ends.
//
// An edited post is a new post with its own id, as on a timeline; EditTweetIDs has the ids of
// the earlier versions. X does not send the posts made while the connection was down; polls
// find them.
//
// Billed.Events counts each event. It also counts deletions, on which X's documents disagree:
// they are billed according to x-api/activity/introduction, but not according to
// x-api/getting-started/pricing. The polls that check a stream return its posts again, and X
// bills these too. So each post costs an event and a post, even if polls are rare.
type Activity struct {
	cfg    ActivityConfig // Token is cleared because fmt prints unexported fields too
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

// streamClient checks the settings that both streams have, sets their defaults, and returns a
// client. Its errors begin with name, the name of the config type.
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

// Brings returns false for posts of protected accounts, because X never sends them. It returns
// true for all others.
func (*Activity) Brings(t *fetcher.Tweet) bool {
	return t.User == nil || t.User.Protected == nil || !*t.User.Protected
}

// Stream lists the app's subscriptions, adds missing ones and connects. If no account has a
// subscription, it does not connect: it emits heartbeats until an account has one, and then
// returns fetcher.ErrResubscribe.
func (a *Activity) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	s := &subscriptions{client: a.client, tag: a.cfg.Tag, postsOnly: a.cfg.PostsOnly}
	s.upkeep = newUpkeep(s, a.cfg.MaxSubscriptions, a.cfg.Logger)
	s.want(q.Accounts)
	c := &connection{feed: s, upkeep: s.upkeep, emit: emit, follow: func(ctx context.Context) { changing(ctx, q.Changes, s.want) }}
	return a.client.streamEnded("activity stream", c.run(ctx))
}
