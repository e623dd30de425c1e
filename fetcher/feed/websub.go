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
	// Fetcher polls the same feeds, as the timeline of the same source, and learns from
	// them which hubs they have. Its UserAgent, MaxBody, AllowPrivate, Transport and Now
	// are those of the WebSub, too: feeds name their hubs, so anybody does. Required; a
	// Fetcher has one WebSub.
	Fetcher *Fetcher
	// Callback is the address under which hubs reach the WebSub's ServeHTTP, https:// and
	// a host that is public, without a query, such as "https://example.com/websub". What
	// hubs call has one more element in its path. Required.
	Callback string
	// Secret is a key of 32 random bytes or more, such as `openssl rand -hex 32` prints.
	// The paths that hubs call and the secrets that they sign with follow from it: keep it
	// over restarts, and give each program its own. Required. It prints as ***.
	Secret secret.Value
	// Logger gets hubs that refuse. Defaults to none.
	Logger *slog.Logger
}

const (
	leastSecret = 32                  // bytes
	lease       = 10 * 24 * time.Hour // that hubs are asked for; they may decide on another time
)

// WebSub is a Streamer of feeds that have a hub, as W3C's WebSub and its forerunner
// PubSubHubbub define it, and the http.Handler that the hubs call. It brings no posts: a
// push has the feed polled at once. It is safe for concurrent use; Stream is called once at
// a time.
type WebSub struct {
	fetcher    *Fetcher
	subscriber *websub.Subscriber
	bell       batch.Bell // a feed was pushed
	turn       sync.Mutex // held by the Stream under way

	mu     sync.Mutex
	wanted map[string]fetcher.Account // by account.id
	pushed map[string]bool            // account.ids, since the engine was told
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

// Brings returns false: all posts are found by polls.
func (w *WebSub) Brings(*fetcher.Tweet) bool { return false }

// Stream subscribes to the feeds that are wanted and have a hub, and reports a gap of each
// feed that a hub pushes: the engine polls it then.
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

// want sets the feeds that are wanted. Names that are no addresses of feeds are not.
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

// named takes the topic and the hubs that a poll has found in a feed.
func (w *WebSub) named(id string, topic websub.Topic) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.wanted[id]; ok {
		w.subscriber.Want(id, topic)
	}
}

// push notes that a hub has pushed a feed.
func (w *WebSub) push(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pushed[id] = true
	w.bell.Ring()
}

// news returns the feeds that were pushed since the last call. They are read also if they
// have asked for a pause.
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

// WebSubStats counts what a WebSub did since it was made.
type WebSubStats struct {
	// Feeds that are wanted and have a hub; Leased of them have a hub that pushes, as it
	// says.
	Feeds, Leased int

	Requests int64 // to hubs
	Failures int64 // of them, those that a hub did not accept
	Verified int64 // verifications confirmed
	Refused  int64 // verifications of what nobody had asked for
	Denied   int64 // subscriptions that a hub denied

	Pushes     int64 // taken: the feed is polled
	Dropped    int64 // pushes for feeds that are not wanted any more
	Unsigned   int64 // pushes refused, as the signature was missing
	Mismatches int64 // pushes ignored, as the signature was wrong
}

// Stats reads the counters.
func (w *WebSub) Stats() WebSubStats { return WebSubStats(w.subscriber.Stats()) }
