package feed

import (
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed/internal/websub"
	"github.com/streamwatch/streamwatch/fetcher/upstream"
)

// Bounds of what makes a hub trusted.
const (
	// leastLag and mostLag bound how old an entry is that its hub must have pushed;
	// between, it is twice the longest time that the hub took lately.
	leastLag, mostLag = 15 * time.Second, 10 * time.Minute
	// maxStrikes bounds the pushes, 1 << (maxStrikes-1), that a hub owes after it has left
	// entries out again and again; after amends pushes in a row it starts anew.
	maxStrikes = 6
	amends     = 50
	// missesOfHub is how many feeds a hub may leave entries out of, between two pushes,
	// before it is trusted with none.
	missesOfHub = 3
	// patience is how many documents in a row may lack the hub that the feed had: some
	// servers alternate between an old and a new one.
	patience = 3
	// maxRemembered bounds the entries that are remembered of a feed.
	maxRemembered = 2000
)

// feeds are those that are wanted, and those that have a hub. The WebSub's mutex guards
// them.
type feeds struct {
	wanted map[string]fetcher.Account // by account.id
	known  map[string]*hubbed         // by account.id
	missed map[string]map[string]bool // ids of feeds, by hub: since its last push
}

func newFeeds() feeds {
	return feeds{wanted: map[string]fetcher.Account{}, known: map[string]*hubbed{}, missed: map[string]map[string]bool{}}
}

// hubbed is a feed that has a hub.
type hubbed struct {
	account *account
	base    *url.URL // where it was read from
	topic   string
	hubs    []string
	absent  int // documents in a row without what is above

	leased  bool // as was told
	trusted bool
	since   time.Time // when it became so, or when the hub said that it leaves something out
	strikes int       // misses, until amends are made
	owed    int       // pushes before it is trusted
	good    int       // pushes since the last miss
	lag     time.Duration

	pushed entries // by this Stream
	// seen are the entries of the last poll that were not pushed, and when a poll showed
	// them first; zero is before the hub was to push them.
	seen   map[string]time.Time
	polled bool // seen is of a poll after the beginning of trust

	thin    bool      // a poll is to be asked for
	thinned time.Time // when one was asked for last
}

// entries is a bounded set of ids.
type entries struct{ young, old map[string]bool }

func (e *entries) has(id string) bool { return e.young[id] || e.old[id] }

func (e *entries) add(id string) {
	if e.young == nil || len(e.young) >= maxRemembered/2 {
		e.old, e.young = e.young, map[string]bool{}
	}
	e.young[id] = true
}

// doubt begins without trust.
func (f *hubbed) doubt() {
	f.trusted, f.since, f.owed = false, time.Time{}, max(f.owed, 1)
	f.polled = false
}

// follow takes note of the lease, and reports whether the feed is brought. A hub whose
// lease has ended has to push anew to be trusted.
func (f *hubbed) follow(leased bool) bool {
	if f.leased && !leased {
		f.doubt()
	}
	f.leased = leased
	return leased && f.trusted
}

// brought follows a push, and reports whether it makes the feed trusted.
func (f *hubbed) brought(now time.Time) bool {
	if f.good++; f.good >= amends {
		f.strikes = 0
	}
	if f.trusted {
		return false
	}
	if f.owed--; f.owed > 0 {
		return false
	}
	f.owed, f.trusted, f.since, f.polled = 0, true, now, false
	return true
}

// took takes note of how long a new entry took.
func (f *hubbed) took(published, now time.Time) {
	if !f.trusted || published.Before(f.since) {
		return
	}
	f.lag = max(now.Sub(published), f.lag*9/10)
}

// late reports whether the hub should have pushed an entry by now.
func (f *hubbed) late(published, now time.Time) bool {
	return !published.Before(f.since) && now.Sub(published) > min(max(2*f.lag, leastLag), mostLag)
}

func (f *hubbed) shown(id string) bool {
	_, ok := f.seen[id]
	return ok
}

// judge takes the entries that a poll shows, and gives one that the hub should have
// pushed and has not.
func (f *hubbed) judge(posts []fetcher.Tweet, now time.Time) (missed *fetcher.Tweet) {
	seen := make(map[string]time.Time, min(len(posts), maxRemembered))
	for i := range posts {
		t := &posts[i]
		if f.pushed.has(t.ID) || len(seen) >= maxRemembered {
			continue
		}
		first, known := f.seen[t.ID]
		since := !t.PublishedAt.Before(f.since) && !t.PublishedAt.After(now) // as its date says
		if !known && (since || f.polled) {
			first = now
		}
		seen[t.ID] = first
		before := known && first.Before(f.since)
		if f.trusted && missed == nil && !before && (f.late(t.PublishedAt, now) || f.late(first, now)) {
			missed = t
		}
	}
	f.seen, f.polled = seen, true
	return missed
}

// missed is a miss.
func (f *hubbed) miss() {
	f.strikes = min(f.strikes+1, maxStrikes)
	f.good, f.owed = 0, 1<<(f.strikes-1)
	f.doubt()
}

// polledFeed is what a poll tells of a feed: its links, and which entries its hub should
// have pushed.
func (w *WebSub) polledFeed(a *account, address *url.URL, header http.Header, doc *document, posts []fetcher.Tweet) {
	links := websub.Discover(header, websub.Links{Hubs: doc.hubs, Self: doc.self}, address)
	links.Hubs = slices.DeleteFunc(links.Hubs, func(hub string) bool {
		_, err := parseAddress(hub, w.fetcher.cfg.AllowPrivate)
		return err != nil
	})
	now := w.fetcher.cfg.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.feeds.known[a.id]
	if f == nil {
		if len(links.Hubs) == 0 {
			return
		}
		w.feeds.makeRoom(w.fetcher.cfg.MaxFeeds)
		f = &hubbed{account: a}
		f.doubt()
		w.feeds.known[a.id] = f
	}
	f.base = address
	if f.link(links) {
		w.change()
	}
	if missed := f.judge(posts, now); missed != nil {
		w.miss(f, missed, now)
	}
}

// link takes over a feed's links, and reports whether they have changed.
func (f *hubbed) link(l websub.Links) bool {
	same := f.topic == l.Self && slices.Equal(f.hubs, l.Hubs)
	switch {
	case same:
		f.absent = 0
		return false
	case f.topic != "" && f.absent+1 < patience:
		f.absent++
		return false
	}
	f.absent, f.hubs, f.topic = 0, l.Hubs, l.Self
	if len(l.Hubs) == 0 {
		f.topic = ""
	}
	f.doubt()
	return true
}

// makeRoom forgets feeds that are not wanted.
func (fs *feeds) makeRoom(most int) {
	if len(fs.known) < most {
		return
	}
	for id := range fs.known {
		if _, ok := fs.wanted[id]; !ok {
			delete(fs.known, id)
		}
	}
}

// miss takes a feed whose hub has left out an entry out of trust, and with the third one
// in a row all of the hub. w.mu is held.
func (w *WebSub) miss(f *hubbed, t *fetcher.Tweet, now time.Time) {
	w.stats.Misses++
	w.cfg.Logger.Warn("a feed's hub has left out an entry", "feed", upstream.PlainURL(f.account.name), "topic", upstream.PlainURL(f.topic),
		"entry", t.ID, "age", now.Sub(t.PublishedAt))
	f.miss()
	w.change()
	hub := w.subscriber.Hub(f.topic)
	missed := w.feeds.missed[hub]
	if missed == nil {
		missed = map[string]bool{}
		w.feeds.missed[hub] = missed
	}
	missed[f.account.id] = true
	if len(missed) < missesOfHub {
		return
	}
	delete(w.feeds.missed, hub)
	for _, other := range w.feeds.known {
		if other.trusted && w.subscriber.Hub(other.topic) == hub {
			other.doubt()
		}
	}
	w.cfg.Logger.Warn("a hub leaves out entries of several feeds", "hub", upstream.PlainURL(hub))
}
