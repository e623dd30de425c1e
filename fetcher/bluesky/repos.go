package bluesky

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/socket"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// maxFrame is the largest accepted size of a message, in bytes. The protocol allows 5 MB.
const maxFrame = 5 << 20

// ReposConfig configures a Repos. A zero field means the default; PDS has none.
type ReposConfig struct {
	// PDS is the server that hosts the accounts, such as "https://pds.example.com". Required.
	PDS string
	// HTTP makes the handshake. Its Timeout must be 0, because a timeout would end the
	// connection. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Now is the clock for Retry-After. Defaults to time.Now.
	Now func() time.Time
}

// Repos is a Streamer for the accounts of one PDS. It reads the commits of these accounts from
// that server (com.atproto.sync.subscribeRepos). It is safe for concurrent use.
//
// It delivers the posts and reposts of accounts with a known DID, in the same form as a Fetcher
// with Config.PDS. The server sends the commits of all its accounts; Repos drops those of
// unwanted accounts. Repos is meant for a server with thousands of accounts. For a relay of the
// whole network, use Jetstream.
//
// A position has the server's sequence number. A stream resumed from a position delivers
// everything since. Servers keep commits for a day or more. If a position is older, the server
// reports that, and Repos emits a SignalGap. It also does if a server was set up anew and its
// numbers are below the position.
type Repos struct {
	cfg  ReposConfig
	base *url.URL
}

var _ fetcher.Streamer = (*Repos)(nil)

// NewRepos checks cfg and returns a Repos. It makes no request.
func NewRepos(cfg ReposConfig) (*Repos, error) {
	u, err := url.Parse(cfg.PDS)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("bluesky: ReposConfig.PDS %q is not allowed: want http:// or https:// and a host", upstream.PlainURL(cfg.PDS))
	}
	if cfg.HTTP != nil && cfg.HTTP.Timeout != 0 {
		return nil, fmt.Errorf("bluesky: ReposConfig.HTTP with a Timeout of %s is not allowed: want 0, it would end the connection", cfg.HTTP.Timeout)
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = upstream.DefaultUserAgent
	}
	return &Repos{cfg: cfg, base: &url.URL{Scheme: u.Scheme, Host: u.Host}}, nil
}

// Brings returns true, because a PDS's stream has every post.
func (*Repos) Brings(*fetcher.Tweet) bool { return true }

// Stream waits until the query has an account with a DID. Then it connects and emits
// signals until ctx or the connection ends, or emit returns an error.
func (p *Repos) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	s := &repoStream{host: p.base.Host, blobs: p.base.String(), emit: emit}
	s.resume(q.Position)
	if err := s.wait(ctx, q); err != nil {
		return err
	}
	address := "ws" + strings.TrimPrefix(p.base.String(), "http") + "/xrpc/com.atproto.sync.subscribeRepos"
	if s.seq > 0 {
		address += "?cursor=" + strconv.FormatInt(s.seq, 10)
	}
	return s.read(ctx, "repos of "+p.base.Host, q.Changes, s.subscribe, s.up, socket.Config{
		URL:        address,
		HTTP:       p.cfg.HTTP,
		Header:     http.Header{"User-Agent": {p.cfg.UserAgent}},
		MaxMessage: maxFrame,
		Binary:     true,
		Now:        p.cfg.Now,
		Message:    s.message,
		Alive:      s.alive,
	})
}

// repoStream is the state of one connection.
type repoStream struct {
	host  string
	blobs string // the server's scheme and host, for the addresses of blobs
	emit  func(fetcher.Signal) error
	seq   int64 // of the last event whose signals were all emitted; 0 if there is none

	wantedAccounts
}

// repoPosition is a position in a PDS's stream. Its text form is JSON.
type repoPosition struct {
	PDS string `json:"pds"` // the server's host
	// Seq is the sequence number of the last event; 0 means to start at the present.
	Seq int64 `json:"seq"`
}

// resume sets seq from a position. If the position is invalid or of another server, seq stays
// 0, and the stream starts at the present.
func (s *repoStream) resume(position string) {
	var at repoPosition
	if json.Unmarshal([]byte(position), &at) == nil && at.PDS == s.host && at.Seq > 0 {
		s.seq = at.Seq
	}
}

func (s *repoStream) position() string {
	b, _ := json.Marshal(repoPosition{s.host, s.seq}) // a string and a number
	return string(b)
}

// subscribe sends nothing, because a PDS always sends the commits of all accounts. If no
// account is wanted, it returns ErrResubscribe, which ends the connection.
func (s *repoStream) subscribe(context.Context, socket.Send) error {
	if len(s.all()) == 0 {
		return fetcher.ErrResubscribe
	}
	return nil
}

func (s *repoStream) up() error {
	return s.emit(fetcher.Signal{Kind: fetcher.SignalUp, Accounts: s.tell(), Resumed: s.seq > 0})
}

func (s *repoStream) alive() error {
	if err := s.tellChanged(s.emit); err != nil {
		return err
	}
	return s.emit(fetcher.Signal{Kind: fetcher.SignalHeartbeat, Position: s.position()})
}
