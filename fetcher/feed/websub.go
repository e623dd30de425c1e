package feed

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed/internal/websub"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
	"github.com/streamwatch/streamwatch/internal/batch"
	"github.com/streamwatch/streamwatch/internal/netguard"
	"github.com/streamwatch/streamwatch/secret"
)

// WebSubConfig sets up a WebSub. The zero value of each field means its default.
type WebSubConfig struct {
	// Fetcher polls the same feeds, as the timeline of the same source. Its polls tell
	// which hubs a feed has, and what its hub has left out. Its UserAgent, MaxBody,
	// MaxFeeds, AllowPrivate, Transport and Now are those of the WebSub, too: feeds name
	// their hubs, so anybody does. Required; a Fetcher has one WebSub.
	Fetcher *Fetcher
	// Callback is the address under which hubs reach the WebSub's ServeHTTP, https:// and
	// a host that is public, without a query, such as "https://example.com/websub". What
	// hubs call has one more element in its path. Required.
	Callback string
	// Secret is a key of 32 random bytes or more, such as `openssl rand -hex 32` prints.
	// The paths that hubs call and the secrets that they sign with follow from it: keep it
	// over restarts, and give each program its own. Required. It prints as ***.
	Secret secret.Value
	// Lease is how long hubs are asked to push. They may decide on another time. Defaults
	// to 10 days, at least 1 h, at most 365 days.
	Lease time.Duration
	// Logger gets leases that end, hubs that refuse, and feeds whose hub leaves out
	// entries. Defaults to none.
	Logger *slog.Logger
}

const (
	leastSecret                         = 32 // bytes
	defaultLease, leastLease, mostLease = 10 * 24 * time.Hour, time.Hour, 365 * 24 * time.Hour
)

// WebSub is a Streamer of feeds that have a hub, as W3C's WebSub and its forerunner
// PubSubHubbub define it, and the http.Handler that the hubs call. It brings the entries
// of a feed once its hub has verified the subscription and has pushed something, until the
// lease ends or a poll finds an entry that the hub has left out. Feeds without a hub are
// polled as without a WebSub. It is safe for concurrent use; Stream is called once at a
// time.
//
// Pushes are accepted while Stream runs. At other times hubs are asked to repeat them.
type WebSub struct {
	cfg        WebSubConfig // less the secret: fmt looks into unexported fields
	fetcher    *Fetcher
	subscriber *websub.Subscriber
	bell       batch.Bell    // there is something to tell
	turn       chan struct{} // held by the Stream under way

	mu      sync.Mutex
	feeds   feeds
	changed bool // which feeds are brought, or which topics are wanted
	stats   WebSubStats
}

var (
	_ fetcher.Streamer = (*WebSub)(nil)
	_ http.Handler     = (*WebSub)(nil)
)

// NewWebSub checks cfg and returns a WebSub. It makes no request.
func NewWebSub(cfg WebSubConfig) (*WebSub, error) {
	if cfg.Fetcher == nil {
		return nil, errors.New("feed: WebSubConfig.Fetcher is missing: want the Fetcher that polls the feeds")
	}
	if err := checkCallback(cfg.Callback, cfg.Fetcher.cfg.AllowPrivate); err != nil {
		return nil, err
	}
	if len(cfg.Secret) < leastSecret {
		return nil, fmt.Errorf("feed: WebSubConfig.Secret of %d bytes is not allowed: want %d or more random ones", len(cfg.Secret), leastSecret)
	}
	if cfg.Lease != 0 && (cfg.Lease < leastLease || cfg.Lease > mostLease) {
		return nil, fmt.Errorf("feed: WebSubConfig.Lease %s is not allowed: want 0 (%s) or %s to %s", cfg.Lease, defaultLease, leastLease, mostLease)
	}
	if cfg.Lease == 0 {
		cfg.Lease = defaultLease
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	private := cfg.Fetcher.cfg.AllowPrivate
	w := &WebSub{fetcher: cfg.Fetcher, bell: batch.NewBell(), turn: make(chan struct{}, 1), feeds: newFeeds()}
	w.subscriber = websub.New(websub.Config{
		Callback: cfg.Callback, Key: []byte(cfg.Secret), HTTP: &http.Client{Transport: cfg.Fetcher.transport}, UserAgent: cfg.Fetcher.cfg.UserAgent,
		Check:   func(hub string) error { _, err := parseURL(hub, maxURL, private); return err },
		Lease:   cfg.Lease,
		MaxBody: cfg.Fetcher.cfg.MaxBody, Now: cfg.Fetcher.cfg.Now, Logger: cfg.Logger, Changed: w.leasesChanged,
	})
	cfg.Secret = ""
	w.cfg = cfg
	if !cfg.Fetcher.webSub.CompareAndSwap(nil, w) {
		return nil, errors.New("feed: WebSubConfig.Fetcher has a WebSub already: want one of its own")
	}
	return w, nil
}

// checkCallback judges the address of a WebSub itself.
func checkCallback(address string, private bool) error {
	if address == "" {
		return errors.New("feed: WebSubConfig.Callback is missing: want the address at which hubs reach ServeHTTP")
	}
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(address, "#") ||
		u.Scheme != "https" && (u.Scheme != "http" || !private) || len(address) > maxAddress {
		return fmt.Errorf("feed: WebSubConfig.Callback %q is not allowed: want https://, a host and a path, and nothing else", upstream.PlainURL(address))
	}
	if netguard.CheckURL("https://"+u.Host+"/", private) != nil {
		return fmt.Errorf("feed: WebSubConfig.Callback %q is not allowed: want a host that hubs can reach", upstream.PlainURL(address))
	}
	return nil
}

// ServeHTTP is what hubs call, at Callback and below: GET to verify a subscription, POST to
// push. Where it is mounted does not matter, the last element of the path tells the
// subscription.
func (w *WebSub) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.subscriber.ServeHTTP(rw, r) }

// Brings reports whether an entry was pushed, or should have been by now. An entry that a
// poll of the Fetcher shows is judged before the engine asks: a feed whose hub has left one
// out is not brought any more, and the others are.
func (w *WebSub) Brings(t *fetcher.Tweet) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.feeds.known[t.UserID]
	return f != nil && (f.pushed.has(t.ID) || f.trusted && f.late(t.PublishedAt, w.fetcher.cfg.Now()))
}

// leasesChanged is the subscriber's Changed.
func (w *WebSub) leasesChanged() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.change()
}

// change has the stream told what it brings. w.mu is held.
func (w *WebSub) change() {
	w.changed = true
	w.bell.Ring()
}

// Stream subscribes to the feeds that are wanted and have a hub, and brings what the hubs
// push. It begins without trust in any of them.
func (w *WebSub) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	if err := w.stream(ctx, q, emit); err != nil {
		return fmt.Errorf("feed: WebSub: %w", err)
	}
	return nil
}

// WebSubStats counts what a WebSub did since it was made.
type WebSubStats struct {
	// Feeds that are wanted, as far as they have a hub; Leased of them have a hub that
	// pushes, as it says, and Trusted a hub that has done so and has left nothing out.
	Feeds, Leased, Trusted int

	Pings  int64 // pushes that were taken
	Thin   int64 // of them, those that had no entry: the feed was polled
	Posts  int64 // entries brought
	Misses int64 // times that a poll found an entry which the feed's hub should have pushed

	Requests int64 // to hubs
	Failures int64 // of them, those that a hub did not accept, or did not verify
	Verified int64 // verifications confirmed
	Refused  int64 // verifications of what nobody had asked for
	Denied   int64 // subscriptions that a hub denied

	Busy       int64 // pushes that the hub was asked to repeat
	Dropped    int64 // pushes for feeds that are not wanted any more
	Unsigned   int64 // pushes refused, as the signature was missing
	Mismatches int64 // pushes ignored, as the signature was wrong
	TooLarge   int64 // pushes over MaxBody
}

// Stats reads the counters.
func (w *WebSub) Stats() WebSubStats {
	s := w.subscriber.Stats()
	w.mu.Lock()
	defer w.mu.Unlock()
	st := w.stats
	for id, f := range w.feeds.known {
		if _, ok := w.feeds.wanted[id]; ok && f.topic.URL != "" {
			st.Feeds++
			leased := w.subscriber.Leased(f.topic)
			if leased {
				st.Leased++
			}
			if leased && f.trusted {
				st.Trusted++
			}
		}
	}
	st.Requests, st.Failures, st.Verified, st.Refused, st.Denied = s.Requests, s.Failures, s.Verified, s.Refused, s.Denied
	st.Busy, st.Dropped, st.Unsigned, st.Mismatches, st.TooLarge = s.Busy, s.Dropped, s.Unsigned, s.Mismatches, s.TooLarge
	return st
}
