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

// WebSubConfig configures a WebSub. A zero field means the default.
type WebSubConfig struct {
	// Fetcher is the Fetcher of the same source. It polls the feeds and finds their hubs. The
	// WebSub uses its UserAgent, MaxBody, AllowPrivate, Transport and Now, because the
	// addresses of hubs come from feeds and need the same checks. Required; a Fetcher has at
	// most one WebSub.
	Fetcher *Fetcher
	// Callback is the URL at which hubs reach the WebSub's ServeHTTP, such as
	// "https://example.com/websub". It has https, a public host and no query. Hubs call paths
	// one element below it. Required.
	Callback string
	// Secret is a key of 32 random bytes or more, for example from `openssl rand -hex 32`. The
	// paths that hubs call and the secrets for their signatures are computed from it. Keep it
	// over restarts, and use a different Secret in each program. Required. It prints as ***.
	Secret secret.Value
	// Logger receives failed subscriptions. Defaults to none.
	Logger *slog.Logger
}

const (
	leastSecret = 32                  // bytes
	lease       = 10 * 24 * time.Hour // requested; a hub may grant another time
)

// WebSub is a Streamer for feeds with a hub (W3C's WebSub or its predecessor PubSubHubbub). It
// is also the http.Handler that the hubs call. It emits no posts: after a hub's push the engine
// polls the feed immediately. A WebSub is safe for concurrent use, but only one Stream may run
// at a time.
type WebSub struct {
	fetcher    *Fetcher
	subscriber *websub.Subscriber
	bell       batch.Bell // rings after a push
	turn       sync.Mutex // held by the running Stream

	mu     sync.Mutex
	wanted map[string]fetcher.Account // subscribed feeds by account.id
	pushed map[string]bool            // account.ids of pushes not yet reported to the engine
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
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	f := cfg.Fetcher
	w := &WebSub{fetcher: f, bell: batch.NewBell(), wanted: map[string]fetcher.Account{}, pushed: map[string]bool{}}
	w.subscriber = websub.New(websub.Config{
		Callback: cfg.Callback, Key: []byte(cfg.Secret), Transport: f.cfg.Transport, UserAgent: f.cfg.UserAgent,
		Check: func(hub string) error { _, err := parseURL(hub, maxURL, f.cfg.AllowPrivate); return err },
		Lease: lease, MaxBody: f.cfg.MaxBody, Now: f.cfg.Now, Logger: cfg.Logger, Pushed: w.push,
	})
	if !f.webSub.CompareAndSwap(nil, w) {
		return nil, errors.New("feed: WebSubConfig.Fetcher has a WebSub already: want one of its own")
	}
	return w, nil
}

// checkCallback returns an error if the address is not allowed as WebSubConfig.Callback.
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

// ServeHTTP answers the requests of hubs below Callback: GET verifies a subscription, POST
// pushes a feed. It may be mounted at any path, because it reads only the last element of a
// request's path, the subscription's token.
func (w *WebSub) ServeHTTP(rw http.ResponseWriter, r *http.Request) { w.subscriber.ServeHTTP(rw, r) }

// Brings returns false, because the stream has no posts: polls find them.
func (w *WebSub) Brings(*fetcher.Tweet) bool { return false }

// Stream subscribes to the wanted feeds that have a hub. For each push it emits a SignalGap
// with the feed, and the engine polls the feed.
func (w *WebSub) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	if err := w.stream(ctx, q, emit); err != nil {
		return fmt.Errorf("feed: WebSub: %w", err)
	}
	return nil
}

func (w *WebSub) stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	if !w.turn.TryLock() {
		return errors.New("already running")
	}
	defer w.turn.Unlock()
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.subscriber.Run(ctx) })
	defer running.Wait()
	defer cancel()
	w.want(q.Accounts)
	if err := emit(fetcher.Signal{Kind: fetcher.SignalUp}); err != nil {
		return err
	}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case list, ok := <-q.Changes:
			if !ok {
				q.Changes = nil
				continue
			}
			w.want(list)
		case <-w.bell:
			if accounts := w.news(); len(accounts) > 0 {
				if err := emit(fetcher.Signal{Kind: fetcher.SignalGap, Accounts: accounts}); err != nil {
					return err
				}
			}
		}
	}
}

// want sets the feeds to subscribe to. It ignores names that are not URLs of feeds.
func (w *WebSub) want(accounts []fetcher.Account) {
	wanted := make(map[string]fetcher.Account, len(accounts))
	for _, a := range accounts {
		if feed, err := newAccount(a.Username, w.fetcher.cfg.AllowPrivate); err == nil {
			wanted[feed.id] = a
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.wanted {
		if _, ok := wanted[id]; !ok {
			w.subscriber.Want(id, websub.Topic{})
		}
	}
	w.wanted = wanted
	for id := range wanted {
		if topic := w.fetcher.topic(id); topic != (websub.Topic{}) {
			w.subscriber.Want(id, topic)
		}
	}
}

// named subscribes to a wanted feed. A poll found topic, the feed's topic and hubs.
func (w *WebSub) named(id string, topic websub.Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.wanted[id]; ok {
		w.subscriber.Want(id, topic)
	}
}

// push records that a hub has pushed a feed.
func (w *WebSub) push(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pushed[id] = true
	w.bell.Ring()
}

// news returns the feeds pushed since the last call. It ends their pauses, so that the next
// poll requests them.
func (w *WebSub) news() (accounts []fetcher.Account) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for id := range w.pushed {
		if a, ok := w.wanted[id]; ok {
			w.fetcher.endPause(id)
			accounts = append(accounts, a)
		}
	}
	clear(w.pushed)
	return accounts
}

// WebSubStats has the counters of a WebSub since it was made.
type WebSubStats struct {
	// Feeds is the number of wanted feeds with a hub. Leased is how many of them have a
	// verified subscription that has not expired.
	Feeds, Leased int

	Requests int64 // requests to hubs
	Failures int64 // requests that a hub did not accept
	Verified int64 // verifications confirmed
	Refused  int64 // verifications of subscriptions that were not requested
	Denied   int64 // subscriptions that a hub denied

	Pushes     int64 // pushes accepted: the feed is polled
	Dropped    int64 // pushes for feeds that are no longer wanted
	Unsigned   int64 // pushes refused because the signature was missing
	Mismatches int64 // pushes ignored because the signature was wrong
}

// Stats returns the counters.
func (w *WebSub) Stats() WebSubStats { return WebSubStats(w.subscriber.Stats()) }
