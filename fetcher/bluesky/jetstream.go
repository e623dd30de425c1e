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

// maxWantedDIDs is the largest number of accounts in a Jetstream subscription.
const maxWantedDIDs = 10_000

// JetstreamConfig configures a Jetstream. A zero field means the default.
type JetstreamConfig struct {
	// URL is the subscription's address, ws:// or wss://, without a query.
	// Defaults to DefaultJetstreamURL.
	URL string
	// HTTP makes the handshake. Its Timeout must be 0, because a timeout would end the
	// connection. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Now is the clock for the age of a position. Defaults to time.Now.
	Now func() time.Time
}

// Jetstream is a Streamer for accounts of the AT Protocol. It uses version 1 of the Jetstream
// protocol, /subscribe, which version 2 servers also support. It is safe for concurrent use.
//
// It delivers the posts and reposts of up to 10,000 accounts with a known DID, as bare
// records without the author's profile and without addresses of media. Ids and times are
// the same as those of a Fetcher.
//
// If the server sends sequence numbers, a stream resumes on the same host by sequence number.
// Otherwise it resumes by time, 5 seconds before the position. Signal.Resumed is true only
// after resuming by sequence number, from a position less than 35 hours old. The reasons are
// that old servers lose events at the end of a replay by time, and that a server starts later,
// without an error, if it no longer has the events of a position.
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

// Stream waits until the query has an account with a DID, because the server takes an empty
// list of accounts as all accounts. Then it connects and emits signals until ctx or the
// connection ends, or emit returns an error. It uses the first 10,000 accounts.
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
	from streamPosition // the position from which to resume
	last string         // the position of the newest event, in its text form

	wantedAccounts
}

// query returns the query part of the connection's URL. The accounts are not in the URL,
// because proxies reject URLs with thousands of them. Because of requireHello, the server sends
// nothing until subscribe has sent the accounts.
func (s *subscription) query() url.Values {
	q := url.Values{"wantedCollections": collections[:], "requireHello": {"true"}}
	if cursor := s.from.cursor(s.host); cursor != "" {
		q.Set("cursor", cursor)
	}
	return q
}

// subscribe sends the wanted accounts to the server. They replace those of an earlier call. If
// there are none, it returns ErrResubscribe.
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
