package bluesky

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
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
// protocol, /subscribe. If the server does not have that, or if URL has a path below /xrpc/, it
// uses version 2, network.bsky.jetstream.subscribeEvents. It is safe for concurrent use.
//
// It delivers the posts and reposts of up to 10,000 accounts with a known DID, as bare
// records without the author's profile and without addresses of media. Ids and times are
// the same as those of a Fetcher.
//
// If the server sends sequence numbers, a stream resumes on the same host by sequence number.
// Otherwise it resumes by time, 5 seconds before the position. Signal.Resumed is true only
// after resuming by sequence number and, with version 1, from a position less than 35 hours
// old: old servers lose events at the end of a replay by time, and version 1 starts later,
// without an error, if it no longer has the events of a position. A SignalGap follows if the
// first event shows that the server's numbers or its clock are not those of the position.
//
// Version 2 has no way to change the accounts of a connection. Up to about 150 accounts are
// in the URL, and others mean a new connection; with more, the server sends everybody's posts,
// and Jetstream drops those of unwanted accounts.
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
// list for all accounts. Then it connects and emits signals until ctx or the connection ends,
// or emit returns an error.
func (j *Jetstream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	s := &subscription{
		cfg: &j.cfg, host: j.base.Host, emit: emit, from: parsePosition(q.Position),
		v2: strings.Contains(j.base.Path, "/xrpc/"), wantedAccounts: wantedAccounts{most: maxWantedDIDs},
	}
	if err := s.wait(ctx, q); err != nil {
		return err
	}
	var refused error // by version 1
	for {
		err := s.read(ctx, "Jetstream "+j.base.Host, q.Changes, s.subscribe, s.up, socket.Config{
			URL:     s.address(j.base),
			HTTP:    j.cfg.HTTP,
			Header:  http.Header{"User-Agent": {j.cfg.UserAgent}},
			Now:     j.cfg.Now,
			Message: s.message,
			Alive:   s.alive,
		})
		switch {
		case !s.opened.IsZero():
			return err
		case s.v2 && s.from != streamPosition{} && refusal(err) == "CursorTooOld":
			s.from = streamPosition{}
		case !s.v2 && refusal(err) != "":
			s.v2, refused = true, err
		case refused != nil:
			return fmt.Errorf("%w; by version 2: %w", refused, err)
		default:
			return err
		}
	}
}

// refusal returns why a server does not offer a protocol or a position: the name in its answer
// to the handshake or, if the answer has none but means that the path is unknown, "NotFound".
// It returns "" for other errors.
func refusal(err error) string {
	var status *fetcher.StatusError
	switch {
	case errors.Is(err, fetcher.ErrNotFound):
		return "NotFound"
	case errors.As(err, &status) && (status.Code < http.StatusInternalServerError || status.Code == http.StatusNotImplemented):
		name, _ := errorBody(status.Detail)
		return name
	}
	return ""
}

// subscription is the state of one connection.
type subscription struct {
	cfg    *JetstreamConfig
	host   string
	emit   func(fetcher.Signal) error
	v2     bool
	asked  []string       // DIDs in the URL of version 2; nil if the server sends everybody's posts
	opened time.Time      // zero until the server has accepted the connection
	from   streamPosition // the position from which to resume; zero once the replay has begun
	last   string         // the position of the newest event, in its text form

	wantedAccounts
}

const (
	subscribeEvents = "xrpc/network.bsky.jetstream.subscribeEvents"
	// maxQuery is the length of a URL's query that proxies accept: nginx reads 8 KiB by default.
	maxQuery = 7 << 10
)

// address returns the connection's URL. With version 1, the accounts are not in it, because
// proxies reject URLs with thousands of them. Because of requireHello, the server sends nothing
// until subscribe has sent the accounts.
func (s *subscription) address(base *url.URL) string {
	u, q := *base, url.Values{}
	if cursor := s.from.cursor(s.host); cursor != "" {
		q.Set("cursor", cursor)
	}
	if !s.v2 {
		q["wantedCollections"], q["requireHello"] = collections[:], []string{"true"}
		u.RawQuery = q.Encode()
		return u.String()
	}
	if !strings.Contains(u.Path, "/xrpc/") {
		u.Path = path.Join("/", path.Dir(u.Path), subscribeEvents)
	}
	q["kinds"], q["collections"] = []string{"commit", "sync"}, collections[:]
	narrow := maps.Clone(q)
	narrow["dids"], s.asked = s.dids(), s.dids()
	if u.RawQuery = narrow.Encode(); len(u.RawQuery) > maxQuery {
		u.RawQuery, s.asked = q.Encode(), nil
	}
	return u.String()
}

func (s *subscription) dids() []string {
	var dids []string
	for _, a := range s.all() {
		dids = append(dids, didOf(a))
	}
	return dids
}

// subscribe sends the wanted accounts to the server. They replace those of an earlier call. If
// there are none, or if the connection cannot have others, it returns ErrResubscribe.
func (s *subscription) subscribe(ctx context.Context, send socket.Send) error {
	dids := s.dids()
	switch {
	case len(dids) == 0 || s.asked != nil && !slices.Equal(dids, s.asked):
		return fetcher.ErrResubscribe
	case s.v2:
		return nil
	}
	type payload struct {
		Collections []string `json:"wantedCollections"`
		DIDs        []string `json:"wantedDids"`
		MaxSize     int      `json:"maxMessageSizeBytes"`
	}
	p := payload{Collections: collections[:], DIDs: dids}
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
	s.opened = s.cfg.Now()
	resumed := s.from.bySeq(s.host) && (s.v2 || s.from.recent(s.opened))
	if s.from.TimeUS > s.opened.UnixMicro() && !resumed {
		s.from = streamPosition{} // of a clock that is ahead: no event is known to be older
	}
	return s.emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: s.tell(), Resumed: resumed})
}

func (s *subscription) alive() error {
	if err := s.tellChanged(s.emit); err != nil {
		return err
	}
	return s.emit(fetcher.Signal{Kind: fetcher.SignalHeartbeat, Position: s.last})
}
