package feed

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed/internal/websub"
)

const (
	// tellEvery is the least time between two signals of what is brought.
	tellEvery = time.Second
	// pollEvery is the least time between two polls of one feed that pushes without an
	// entry ask for.
	pollEvery = time.Minute
)

// stream is one call of Stream.
type stream struct {
	w    *WebSub
	emit func(fetcher.Signal) error

	told     []fetcher.Account // what is brought, as the engine knows it
	tell     *time.Timer
	lastTold time.Time
	ended    error // of emit
}

func (w *WebSub) stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	select {
	case w.turn <- struct{}{}:
		defer func() { <-w.turn }()
	default:
		return websub.ErrRunning
	}
	ctx, cancel := context.WithCancel(ctx)
	subscribed := make(chan error, 1)
	go func() { subscribed <- w.subscriber.Run(ctx) }()
	ended := false
	defer func() {
		cancel()
		if !ended {
			<-subscribed
		}
	}()
	s := &stream{w: w, emit: emit, tell: time.NewTimer(0)}
	defer s.tell.Stop()
	w.begin(q.Accounts)
	if err := emit(fetcher.Signal{Kind: fetcher.SignalUp}); err != nil {
		return err
	}
	changes := q.Changes
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-subscribed:
			ended = true
			return err
		case list, ok := <-changes:
			if !ok {
				changes = nil
				continue
			}
			w.want(list)
		case <-w.bell:
			s.tell.Reset(max(0, tellEvery-time.Since(s.lastTold)))
		case <-s.tell.C:
			if err := s.tellChanges(); err != nil {
				return err
			}
		case p := <-w.subscriber.Pushes():
			p.Done(s.take(ctx, p))
			if s.ended != nil {
				return s.ended
			}
		}
	}
}

// begin begins a stream.
func (w *WebSub) begin(accounts []fetcher.Account) {
	w.mu.Lock()
	clear(w.feeds.missed)
	for _, f := range w.feeds.known {
		f.owed, f.strikes, f.good = 1, 0, 0
		f.pushed = entries{}
		f.doubt()
	}
	w.mu.Unlock()
	w.want(accounts)
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
	for id, f := range w.feeds.known {
		if _, ok := wanted[id]; !ok && f.trusted {
			f.doubt()
		}
	}
	w.feeds.wanted = wanted
	w.change()
}

// tellChanges subscribes to what is wanted, and tells what is brought and what is to be
// polled.
func (s *stream) tellChanges() error {
	n := s.w.news()
	s.lastTold = time.Now()
	if n.again > 0 {
		s.tell.Reset(max(n.again, tellEvery))
	}
	if n.changed {
		s.w.subscriber.Want(n.topics)
		if !slices.Equal(s.told, n.brought) {
			s.told = n.brought
			if err := s.emit(fetcher.Signal{Kind: fetcher.SignalAccounts, Accounts: n.brought}); err != nil {
				return err
			}
		}
	}
	if len(n.thin) > 0 {
		return s.emit(fetcher.Signal{Kind: fetcher.SignalGap, Accounts: n.thin})
	}
	return nil
}

// news is what a stream has to tell.
type news struct {
	changed       bool
	topics        []websub.Topic    // that are wanted, if that has changed
	brought, thin []fetcher.Account // feeds that are brought, and feeds to be polled
	again         time.Duration     // when there is more to tell; 0 for never
}

// wait has something told after a time, unless that is 0.
func (n *news) wait(d time.Duration) {
	if d > 0 && (n.again == 0 || d < n.again) {
		n.again = d
	}
}

func (w *WebSub) news() (n news) {
	now := w.fetcher.cfg.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, f := range w.feeds.known {
		n.wait(w.judge(f, now))
	}
	if n.changed = w.changed; n.changed {
		w.feeds.of = map[websub.Topic][]string{}
	}
	for id, f := range w.feeds.known {
		a, ok := w.feeds.wanted[id]
		if !ok || f.topic.URL == "" {
			continue
		}
		if n.changed {
			n.topics = append(n.topics, f.topic)
			w.feeds.of[f.topic] = append(w.feeds.of[f.topic], id)
			if f.follow(w.subscriber.Leased(f.topic)) {
				n.brought = append(n.brought, a)
			}
		}
		switch wait := f.thinned.Add(pollEvery).Sub(now); {
		case !f.thin:
		case wait > 0:
			n.wait(wait)
		default:
			f.thin, f.thinned = false, now
			n.thin = append(n.thin, a)
		}
	}
	w.changed = false
	slices.SortFunc(n.brought, func(a, b fetcher.Account) int { return strings.Compare(a.Username, b.Username) })
	return n
}

// take brings what a hub has pushed.
func (s *stream) take(ctx context.Context, p *websub.Push) error {
	for _, to := range s.w.addressees(p.Topic) {
		if err := s.bring(ctx, to, p); err != nil {
			return err
		}
	}
	return nil
}

// addressee is a feed that a push is for.
type addressee struct {
	feed    *hubbed
	account fetcher.Account
	base    *url.URL
}

func (w *WebSub) addressees(topic websub.Topic) (list []addressee) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Pings++
	delete(w.feeds.missed, w.subscriber.Hub(topic))
	for _, id := range w.feeds.of[topic] {
		f := w.feeds.known[id]
		if a, ok := w.feeds.wanted[id]; ok && f != nil && f.topic == topic {
			list = append(list, addressee{f, a, f.base})
		}
	}
	return list
}

// bring brings the entries of a push that this stream has not brought yet, the oldest
// first. A push that has none, or whose sender is not sure, has the feed polled.
func (s *stream) bring(ctx context.Context, to addressee, p *websub.Push) error {
	w, f := s.w, to.feed
	var posts []fetcher.Tweet
	whole := false
	if p.Authentic {
		if doc, err := parse(p.Body, p.Header, to.base); err == nil {
			found, err := w.fetcher.posts(ctx, f.account, doc, pushed, nil)
			if err != nil {
				return err
			}
			posts = found.tweets
			whole = len(posts) > 0 && !doc.cut
		}
	}
	for _, t := range slices.Backward(posts) {
		if w.brought(f, t.ID) {
			continue
		}
		t.Username = to.account.Username
		if s.ended = s.emit(fetcher.Signal{Kind: fetcher.SignalPost, Post: &t}); s.ended != nil {
			return s.ended
		}
		w.bringing(f, &t)
	}
	w.pushed(f, whole)
	return nil
}

func (w *WebSub) brought(f *hubbed, id string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return f.pushed.has(id)
}

// bringing follows an entry that the engine has taken.
func (w *WebSub) bringing(f *hubbed, t *fetcher.Tweet) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Posts++
	f.pushed.add(t.ID)
	delete(f.overdue, t.ID)
	f.took(t.PublishedAt, w.fetcher.cfg.Now())
}

// pushed follows a push. What it left out is for a poll to find, and no miss.
func (w *WebSub) pushed(f *hubbed, whole bool) {
	now := w.fetcher.cfg.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.brought(now) {
		w.change()
	}
	if !whole {
		w.fetcher.state(f.account).set(func(p *polled) { p.pause = time.Time{} }) // the publisher wants it to be read
		w.stats.Thin++
		f.thin, f.since, f.polled, f.overdue = true, after(now), false, nil
		w.bell.Ring()
	}
}
