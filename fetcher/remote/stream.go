package remote

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/secret"
)

// StreamConfig configures a Stream. A zero field means the default.
type StreamConfig struct {
	// BaseURL is the scheme and host of the other service, such as
	// "https://streams.example.com". Required.
	BaseURL string
	// Key is an API key of the other service. It belongs to the owner of the monitors.
	// Required. It prints as ***.
	Key secret.Value
	// Segment is the path element after /v1 in the other service's paths. The other service
	// sets it in enginehttp.Options.Segment. Defaults to "social".
	Segment string
	// HTTP makes the requests and the handshake. Its Timeout must be 0, because a timeout
	// would end the connection. Redirects to another host are not followed. Defaults to
	// http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Now is the clock for Retry-After. Defaults to time.Now.
	Now func() time.Time
}

// Stream is a Streamer that receives the posts found by another service's monitors. One
// connection has the posts of all monitors of the key's owner. A Stream is safe for concurrent
// use.
//
// It pushes the posts of accounts that are in its query and in an active monitor. The accounts
// may change without a new connection. A position has the seq and epoch of the last frame. The
// service sends all posts since then, as long as it keeps them.
type Stream struct {
	service
	cfg   StreamConfig // without the key, because fmt prints unexported fields, too
	key   func() secret.Value
	place string // the service's URL, for positions

	mu    sync.Mutex
	found tracked // accounts of the monitors, as last read
}

var _ fetcher.Streamer = (*Stream)(nil)

const (
	monitorsEvery = 10 * time.Minute // how often the monitors are read
	monitorsAfter = time.Minute      // until they are read after an account without a monitor was added
	maxFrame      = 16 << 20         // bytes; a frame has a post twice
)

// NewStream checks cfg and returns a Stream. It makes no request.
func NewStream(cfg StreamConfig) (*Stream, error) {
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultClient
	}
	if cfg.HTTP.Timeout != 0 {
		return nil, fmt.Errorf("remote: StreamConfig.HTTP with a Timeout of %s is not allowed: want 0, it would end the connection", cfg.HTTP.Timeout)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = upstream.DefaultUserAgent
	}
	s, err := newService(upstream.Config{BaseURL: cfg.BaseURL, Token: cfg.Key, HTTP: cfg.HTTP, UserAgent: cfg.UserAgent, Now: cfg.Now}, cfg.Segment)
	if err != nil {
		return nil, err
	}
	key := cfg.Key
	cfg.Key = ""
	return &Stream{service: s, cfg: cfg, key: func() secret.Value { return key }, place: s.client.Host() + s.prefix}, nil
}

// Brings reports whether a monitor of the key's owner has t's author in its usernames and t's
// kind in its filter_types. It returns false until the monitors have been read.
func (s *Stream) Brings(t *fetcher.Tweet) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found.brings(t)
}

// Stream reads the monitors, then connects and emits signals until ctx or the connection
// ends, or emit returns an error. It returns fetcher.ErrUnsupported if the service has no
// WebSocket, and fetcher.ErrUnauthorized if the key is invalid.
func (s *Stream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	c := &connection{stream: s, emit: emit, from: parsePosition(q.Position, s.place), wanted: q.Accounts, changed: true}
	if err := c.run(ctx, q.Changes); err != nil {
		return fmt.Errorf("remote: stream of %s: %w", s.client.Host(), err)
	}
	return nil
}

// readMonitors sets s.found to the accounts of the monitors.
func (s *Stream) readMonitors(ctx context.Context) error {
	found, err := s.monitors(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = found
	return nil
}

// address returns the URL of the WebSocket that sends the frames after the position from.
func (s *Stream) address(from position) string {
	address := socket.Base(s.cfg.BaseURL) + s.prefix + "/stream"
	if from.known() {
		address += "?" + url.Values{"since": {from.since()}}.Encode()
	}
	return address
}

// socket returns the configuration of a connection that begins after from.
func (s *Stream) socket(from position) socket.Config {
	return socket.Config{
		URL: s.address(from), HTTP: s.cfg.HTTP, Token: s.key(), Now: s.cfg.Now, MaxMessage: maxFrame,
		Header: http.Header{"User-Agent": {s.cfg.UserAgent}, keyHeader: {string(s.key())}},
	}
}
