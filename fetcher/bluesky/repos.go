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

// maxFrame bounds a message of subscribeRepos, which may have 5 MB.
const maxFrame = 5 << 20

// ReposConfig sets up a Repos. The zero value of each field but PDS means its
// default.
type ReposConfig struct {
	// PDS is the server that hosts the accounts, such as "https://pds.example.com".
	// Required.
	PDS string
	// HTTP makes the handshake; its Timeout must be 0, which would end the
	// connection. Defaults to http.DefaultClient.
	HTTP *http.Client
	// UserAgent defaults to upstream.DefaultUserAgent.
	UserAgent string
	// Now is the clock for Retry-After. Defaults to time.Now.
	Now func() time.Time
}

// Repos is a Streamer for the accounts that one PDS hosts. It reads the commits from
// that server itself (com.atproto.sync.subscribeRepos), without a server in between.
// It is safe for concurrent use.
//
// It brings the posts and reposts of accounts with a known DID, as records: as
// Fetcher reads them from a PDS. The server sends the commits of all its accounts, and
// Repos drops those that are not wanted. That is fine for a server with some thousand
// accounts, but not for a relay of the whole network: use Jetstream there.
//
// A position resumes by the server's sequence number, and brings everything since.
// Servers keep commits for a day or more; one that does not reach back to a position
// says so, which is a SignalGap.
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

// Brings returns true: a PDS leaves nothing out of its stream.
func (*Repos) Brings(*fetcher.Tweet) bool { return true }

// Stream waits until there is an account with a DID.
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
	blobs string // the address that blobs are read from
	emit  func(fetcher.Signal) error
	seq   int64 // of the last commit that was emitted whole, 0 for the present

	wantedAccounts
}

// repoPosition is where a stream of a PDS was. Its text is JSON.
type repoPosition struct {
	PDS string `json:"pds"`
	// Seq is the server's number of the last commit, 0 for the present.
	Seq int64 `json:"seq"`
}

// resume sets seq from a position. One of another server is the present.
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

// subscribe ends a connection that no account needs.
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
