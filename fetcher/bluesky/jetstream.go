package bluesky

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// DefaultJetstreamURL is one of Bluesky's four public Jetstream hosts.
const DefaultJetstreamURL = "wss://jetstream2.us-east.bsky.network/subscribe"

// maxWantedDIDs is the most accounts that one Jetstream subscription accepts.
const maxWantedDIDs = 10_000

// JetstreamConfig sets up a Jetstream. The zero value of each field means its
// default.
type JetstreamConfig struct {
	// URL is the subscription's address, ws:// or wss://, without a query.
	// Defaults to DefaultJetstreamURL.
	URL string
	// HTTP makes the handshake. Its Timeout must be 0: any other would end the
	// connection. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Now is the clock for the age of a position. Defaults to time.Now.
	Now func() time.Time
}

// Jetstream is a Streamer for accounts of the AT Protocol. It uses version 1 of the
// Jetstream protocol, /subscribe, which version 2 servers also support. It is safe
// for concurrent use.
//
// It delivers the posts and reposts of up to 10,000 accounts with a known DID, as bare
// records without the author's profile and without addresses of media. Ids and times are
// the same as those of a Fetcher.
//
// A stream resumes on the same host by the server's sequence number, if the server sends
// one. Otherwise it resumes by time, 5 seconds before the position. Signal.Resumed is
// true only for the former, and only for positions less than 35 hours old: older servers
// lose events at the end of a replay by time, and a server that no longer has the events
// of a position starts later without an error.
type Jetstream struct {
	cfg  JetstreamConfig
	base *url.URL
}

var _ fetcher.Streamer = (*Jetstream)(nil)

// NewJetstream checks cfg and returns a Jetstream. It makes no request.
func NewJetstream(cfg JetstreamConfig) (*Jetstream, error) {
	if cfg.URL == "" {
		cfg.URL = DefaultJetstreamURL
	}
	u, err := url.Parse(cfg.URL)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("bluesky: JetstreamConfig.URL %q is not allowed: want ws:// or wss://, a host and a path, and nothing else", upstream.PlainURL(cfg.URL))
	}
	if cfg.HTTP != nil && cfg.HTTP.Timeout != 0 {
		return nil, fmt.Errorf("bluesky: JetstreamConfig.HTTP with a Timeout of %s is not allowed: want 0, it would end the connection", cfg.HTTP.Timeout)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = upstream.DefaultUserAgent
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	return &Jetstream{cfg: cfg, base: u}, nil
}

// Brings returns true, because a subscription to an account has all its posts.
func (*Jetstream) Brings(*fetcher.Tweet) bool { return true }

// Stream waits until the query has an account with a DID: a subscription to no account
// would be one to all accounts. Then it connects and emits signals until ctx or the
// connection ends, or emit returns an error. It ignores accounts beyond 10,000.
func (j *Jetstream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	s := &subscription{cfg: &j.cfg, host: j.base.Host, emit: emit, from: parsePosition(q.Position), last: q.Position}
	s.most = maxWantedDIDs
	if err := s.wait(ctx, q); err != nil {
		return err
	}
	return s.read(ctx, "jetstream "+j.base.Host, q.Changes, s.subscribe, s.up, socket.Config{
		URL:     j.base.String() + "?" + s.query().Encode(),
		HTTP:    j.cfg.HTTP,
		Header:  http.Header{"User-Agent": {j.cfg.UserAgent}},
		Now:     j.cfg.Now,
		Message: s.message,
		Alive:   s.alive,
	})
}

// subscription is the state of one connection.
type subscription struct {
	cfg  *JetstreamConfig
	host string
	emit func(fetcher.Signal) error
	from streamPosition // the position that the query asks to resume from
	last string         // the position of the newest event, in its text form

	wantedAccounts
}

// query returns the query part of the connection's URL. It has no accounts, because
// proxies reject URLs with thousands of them. With requireHello, the server sends nothing
// until it has received the accounts from subscribe.
func (s *subscription) query() url.Values {
	q := url.Values{"wantedCollections": collections[:], "requireHello": {"true"}}
	if cursor := s.from.cursor(s.host); cursor != "" {
		q.Set("cursor", cursor)
	}
	return q
}

// subscribe sends the wanted accounts, which replace those of an earlier call. It returns
// ErrResubscribe if there are none.
func (s *subscription) subscribe(ctx context.Context, send socket.Send) error {
	type payload struct {
		Collections []string `json:"wantedCollections"`
		DIDs        []string `json:"wantedDids"`
		MaxSize     int      `json:"maxMessageSizeBytes"`
	}
	p := payload{Collections: collections[:]}
	for _, a := range s.all() {
		p.DIDs = append(p.DIDs, didOf(a))
	}
	if len(p.DIDs) == 0 {
		return fetcher.ErrResubscribe
	}
	b, err := json.Marshal(struct {
		Type    string  `json:"type"`
		Payload payload `json:"payload"`
	}{"options_update", p})
	if err != nil {
		return err
	}
	return send(ctx, b)
}

// up emits a SignalUp: the server has accepted the subscription.
func (s *subscription) up() error {
	return s.emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: s.tell(), Resumed: s.from.exact(s.host, s.cfg.Now())})
}

func (s *subscription) alive() error {
	if err := s.tellChanged(s.emit); err != nil {
		return err
	}
	return s.emit(fetcher.Signal{Kind: fetcher.SignalHeartbeat, Position: s.last})
}
