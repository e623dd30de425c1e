package mastodon

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/secret"
)

// StreamConfig configures a Stream. A zero field means the default.
type StreamConfig struct {
	// BaseURL is the server, such as "https://mastodon.social". Required.
	BaseURL string
	// Token is an access token of a user, with the scope "read". Required. It prints as ***.
	Token secret.Value
	// StreamingURL is the address of the server's streams: ws:// or wss:// and a host. Defaults
	// to configuration.urls.streaming in the server's /api/v2/instance. If that is missing, the
	// default is the host of BaseURL.
	StreamingURL string
	// Visibility is as in Config. Defaults to unlisted.
	Visibility string
	// HTTP makes the requests and the handshake. Its Timeout must be 0, because a timeout would
	// end the connection. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Now returns the time, for rate limits. Defaults to time.Now.
	Now func() time.Time
}

// Stream is a Streamer that reads a user's home timeline. It delivers the posts of accounts
// that are in the query and that the user follows. Stream itself does not follow accounts.
// Followed accounts can see their followers, so most programs have a separate user for this.
//
// The platform has no stream positions, so only polls find the posts made while the connection
// was down. A home timeline leaves out replies to others and many boosts; Brings returns false
// for these.
//
// Servers stop filling the home timeline of a user who has not been active for a week. An open
// stream does not count as activity, but reading the list of follows does. Stream reads that
// list every hour.
type Stream struct {
	cfg      StreamConfig // Token is cleared because fmt prints unexported fields too
	token    func() secret.Value
	client   *upstream.Client
	audience audience
}

var _ fetcher.Streamer = (*Stream)(nil)

const (
	followsEvery   = time.Hour // interval between two readings of the follows
	maxFollowPages = 200       // largest number of pages of follows to read, 80 accounts each
)

// NewStream checks cfg and returns a Stream. It makes no request.
func NewStream(cfg StreamConfig) (*Stream, error) {
	if cfg.Token == "" {
		return nil, errors.New("mastodon: StreamConfig.Token is missing: want a user's access token")
	}
	if cfg.HTTP == nil {
		cfg.HTTP = http.DefaultClient
	}
	if cfg.HTTP.Timeout != 0 {
		return nil, fmt.Errorf("mastodon: StreamConfig.HTTP with a Timeout of %s is not allowed: want 0, it would end the connection", cfg.HTTP.Timeout)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = upstream.DefaultUserAgent
	}
	if cfg.StreamingURL != "" && streamingBase(cfg.StreamingURL) == "" {
		return nil, fmt.Errorf("mastodon: StreamConfig.StreamingURL %q is not allowed: want ws:// or wss:// and a host", upstream.PlainURL(cfg.StreamingURL))
	}
	heard, err := audienceOf("StreamConfig.Visibility", cfg.Visibility)
	if err != nil {
		return nil, err
	}
	client, err := upstream.New(upstream.Config{BaseURL: cfg.BaseURL, Token: cfg.Token, HTTP: cfg.HTTP, UserAgent: cfg.UserAgent, Now: cfg.Now})
	if err != nil {
		return nil, fmt.Errorf("mastodon: %w", err)
	}
	token := cfg.Token
	cfg.Token = ""
	return &Stream{cfg: cfg, token: func() secret.Value { return token }, client: client, audience: heard}, nil
}

// streamingBase returns the scheme and host of a ws:// or wss:// address, or "" for any other
// text.
func streamingBase(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" || u.Host == "" || u.User != nil {
		return ""
	}
	return u.Scheme + "://" + u.Host
}

// Brings returns false for replies to others, boosts and posts that StreamConfig.Visibility
// withholds, true for other posts.
func (s *Stream) Brings(t *fetcher.Tweet) bool {
	return !s.audience.withheld(*t) && !t.IsRetweet && (t.InReplyToUserID == "" || t.InReplyToUserID == t.UserID)
}

// Stream reads the list of accounts that the user follows. Then it connects and emits
// signals until ctx or the connection ends, or emit returns an error.
func (s *Stream) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	h := &home{stream: s, emit: emit, wanted: q.Accounts}
	if err := h.run(ctx, q.Changes); err != nil {
		return fmt.Errorf("mastodon: stream of %s: %w", s.client.Host(), err)
	}
	return nil
}

// home is one connection to a home timeline.
type home struct {
	stream *Stream
	emit   func(fetcher.Signal) error
	self   account // the token's user

	mu      sync.Mutex
	wanted  []fetcher.Account
	follows map[string]string // ids of followed accounts, by id and by "@name" in lower case
	told    map[string]bool   // ids of the accounts in the last emitted list
	changed bool              // wanted or follows changed since then
}

func (h *home) run(ctx context.Context, changes <-chan []fetcher.Account) error {
	base, err := h.streamingURL(ctx)
	if err != nil {
		return err
	}
	if err := h.readSelf(ctx); err != nil {
		return err
	}
	if err := h.readFollows(ctx); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	cfg := &h.stream.cfg
	return socket.Read(ctx, socket.Config{
		URL:   base + "/api/v1/streaming?stream=user",
		HTTP:  cfg.HTTP,
		Token: h.stream.token(),
		Now:   cfg.Now,
		Header: http.Header{
			"User-Agent":    {cfg.UserAgent},
			"Authorization": {"Bearer " + string(h.stream.token())},
		},
		Opened: func(socket.Send) error {
			following.Go(func() { h.follow(ctx, changes) })
			return h.emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: h.tell()})
		},
		Message: h.message,
		Alive: func() error {
			if err := h.tellChanged(); err != nil {
				return err
			}
			return h.emit(fetcher.Signal{Kind: fetcher.SignalHeartbeat})
		},
	})
}

// streamingURL returns the base address of the server's streams. It is the first of these that
// exists: StreamConfig.StreamingURL, the address in /api/v2/instance, the host of BaseURL.
func (h *home) streamingURL(ctx context.Context) (string, error) {
	if base := streamingBase(h.stream.cfg.StreamingURL); base != "" {
		return base, nil
	}
	var instance struct {
		Configuration struct {
			URLs struct {
				Streaming string `json:"streaming"`
			} `json:"urls"`
		} `json:"configuration"`
	}
	resp, err := h.stream.client.Get(ctx, "/api/v2/instance", nil)
	switch {
	case err == nil:
		defer resp.Release()
		_ = json.Unmarshal(resp.Body, &instance)
	case !errors.Is(err, fetcher.ErrNotFound):
		return "", err
	}
	if base := streamingBase(instance.Configuration.URLs.Streaming); base != "" {
		return base, nil
	}
	return socket.Base(h.stream.cfg.BaseURL), nil
}

func (h *home) readSelf(ctx context.Context) error {
	resp, err := h.stream.client.Get(ctx, "/api/v1/accounts/verify_credentials", nil)
	if err != nil {
		return err
	}
	defer resp.Release()
	if json.Valid(resp.Body) {
		h.self.decode(bytes.TrimSpace(resp.Body))
	}
	if h.self.ID == "" {
		return fmt.Errorf("%w: the token's user has no id", fetcher.ErrMalformed)
	}
	return nil
}

// readFollows sets h.follows to the accounts that the user follows, and the user's own account,
// because a home timeline also has the user's own posts.
func (h *home) readFollows(ctx context.Context) error {
	follows := map[string]string{}
	add := func(id, acct string) {
		follows[id] = id
		if acct != "" {
			follows["@"+strings.ToLower(acct)] = id
		}
	}
	add(string(h.self.ID), h.self.Acct)
	path := "/api/v1/accounts/" + url.PathEscape(string(h.self.ID)) + "/following?limit=80"
	for page, cursor := 0, ""; page < maxFollowPages; page++ {
		at := path
		if cursor != "" {
			at += "&max_id=" + url.QueryEscape(cursor)
		}
		resp, err := h.stream.client.Get(ctx, at, nil)
		if err != nil {
			return err
		}
		list, err := decodeAccounts(resp.Body)
		next, _ := linkNext(resp.Header)
		resp.Release()
		if err != nil {
			return err
		}
		for _, a := range list {
			add(a.id, a.acct)
		}
		if next == "" || next == cursor || len(list) == 0 {
			break
		}
		cursor = next
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.follows, h.changed = follows, true
	return nil
}

// follow sets h.wanted to each value of changes, and updates h.follows every hour, until ctx
// ends.
func (h *home) follow(ctx context.Context, changes <-chan []fetcher.Account) {
	tick := time.NewTicker(followsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case accounts, ok := <-changes:
			if !ok {
				changes = nil
				continue
			}
			h.mu.Lock()
			h.wanted, h.changed = accounts, true
			h.mu.Unlock()
		case <-tick.C:
			_ = h.readFollows(ctx) // on an error, keep the old list for another hour
		}
	}
}

// tell returns the accounts that are both wanted and followed, for the caller to emit. It
// remembers their ids.
func (h *home) tell() []fetcher.Account {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed, h.told = false, map[string]bool{}
	var brought []fetcher.Account
	for _, a := range h.wanted {
		if id := cmp.Or(h.follows[a.UserID], h.follows["@"+strings.ToLower(a.Username)]); id != "" {
			h.told[id] = true
			brought = append(brought, a)
		}
	}
	return brought
}

// brings reports whether an account is in the last emitted list.
func (h *home) brings(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.told[id]
}

func (h *home) tellChanged() error {
	h.mu.Lock()
	changed := h.changed
	h.mu.Unlock()
	if !changed {
		return nil
	}
	return h.emit(fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: h.tell()})
}

// message emits the signal for one event. An unreadable event becomes a SignalGap. A post of an
// account that is not in the last emitted list, or one to withhold, becomes a SignalHeartbeat. If the event is an
// error of the server, message returns that error.
func (h *home) message(b []byte) error {
	var e struct {
		Event   string `json:"event"`
		Payload string `json:"payload"` // JSON, or an id
		Error   string `json:"error"`
		Status  int    `json:"status"`
	}
	if err := json.Unmarshal(b, &e); err != nil {
		return h.emit(fetcher.Signal{Kind: fetcher.SignalGap})
	}
	if e.Error != "" {
		return &fetcher.StatusError{Code: e.Status, Detail: upstream.Detail(e.Error, h.stream.token())}
	}
	if err := h.tellChanged(); err != nil {
		return err
	}
	switch e.Event {
	case "update", "status.update":
		var s status
		if json.Valid([]byte(e.Payload)) {
			s.decode(bytes.TrimSpace([]byte(e.Payload)), false)
		}
		if s.ID == "" {
			return h.emit(fetcher.Signal{Kind: fetcher.SignalGap})
		}
		t := s.tweet()
		if !h.brings(t.UserID) || h.stream.audience.withheld(t) {
			break
		}
		kind := fetcher.SignalPost
		if e.Event == "status.update" {
			kind = fetcher.SignalEdit
		}
		return h.emit(fetcher.Signal{Kind: kind, Post: &t})
	case "delete":
		return h.emit(fetcher.Signal{Kind: fetcher.SignalDelete, ID: e.Payload})
	}
	return h.emit(fetcher.Signal{Kind: fetcher.SignalHeartbeat})
}
