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
	// between, it is twice the longest time that the hub took lately. A hub of which
	// little is known has all the time.
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
	of     map[websub.Topic][]string  // account.ids of those wanted
	missed map[string]map[string]bool // account.ids, by hub: since its last push
}

func newFeeds() feeds {
	return feeds{wanted: map[string]fetcher.Account{}, known: map[string]*hubbed{}, missed: map[string]map[string]bool{}}
}

// hubbed is a feed that has a hub.
type hubbed struct {
	account *account
	base    *url.URL     // where it was read from
	topic   websub.Topic // the zero value for none
	absent  int          // documents in a row without what is above

	leased  bool // as was told
	trusted bool
	since   time.Time // when it became so, or when the hub said that it leaves something out
	strikes int       // misses, until amends are made
	owed    int       // pushes before it is trusted
	good    int       // pushes since the last miss
	lag     time.Duration

	pushed entries // by this Stream
	// overdue are entries that a poll has shown first, and from when on the hub had time to
	// push them.
	overdue map[string]time.Time
	polled  bool // since the hub is trusted

	thin    bool      // a poll is to be asked for
	thinned time.Time // when one was asked for last
}

// entries is a bounded set of ids.
type entries struct{ young, old map[uint64]bool } // by hash

func (e *entries) has(id string) bool {
	h := hash(id)
	return e.young[h] || e.old[h]
}

func (e *entries) add(id string) {
	if e.young == nil || len(e.young) >= maxRemembered/2 {
		e.old, e.young = e.young, map[uint64]bool{}
	}
	e.young[hash(id)] = true
}

// doubt begins without trust.
func (f *hubbed) doubt() {
	f.trusted, f.since, f.owed = false, time.Time{}, max(f.owed, 1)
	f.polled, f.overdue = false, nil
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
	f.owed, f.trusted, f.since, f.polled = 0, true, after(now), false
	return true
}

// after is the first whole second after a moment: many feeds tell no more of a time.
func after(t time.Time) time.Time { return t.Truncate(time.Second).Add(time.Second) }

// took takes note of how long a new entry took.
func (f *hubbed) took(published, now time.Time) {
	if f.trusted && !published.Before(f.since) {
		f.lag = max(now.Sub(published), f.lag*9/10)
	}
}

// due is when the hub must have pushed an entry that it could push from a moment on.
func (f *hubbed) due(from time.Time) time.Time {
	return from.Add(min(max(2*f.lag, leastLag), mostLag))
}

// late reports whether the hub should have pushed an entry by now, as its date says.
func (f *hubbed) late(published, now time.Time) bool {
	return !published.Before(f.since) && now.After(f.due(published))
}

// freshEntry is an entry that a poll is the first to show.
type freshEntry struct {
	id        string
	published time.Time
}

// shows takes the entries that a poll is the first to show, of the newest or of older ones.
// One with a date before the hub was trusted may be an old one, on a page of older entries
// and in the first poll since then.
func (f *hubbed) shows(fresh []freshEntry, k kind, now time.Time) {
	for _, e := range fresh {
		from := e.published
		switch {
		case !f.trusted || f.pushed.has(e.id) || len(f.overdue) >= maxRemembered:
			continue
		case !from.Before(f.since):
		case f.polled && k == newest:
			from = now
		default:
			continue
		}
		if f.overdue == nil {
			f.overdue = map[string]time.Time{}
		}
		f.overdue[e.id] = from
	}
	f.polled = f.polled || k == newest
}

// missed is an entry that the hub should have pushed by now, and from when on it could have;
// id is "" for none. wait is how long to wait until there may be one, 0 for ever.
func (f *hubbed) missed(now time.Time) (id string, from time.Time, wait time.Duration) {
	for entry, since := range f.overdue {
		left := f.due(since).Sub(now)
		if left < 0 {
			return entry, since, 0
		}
		if wait == 0 || left < wait {
			wait = left + 1
		}
	}
	return "", time.Time{}, wait
}

// miss is a miss.
func (f *hubbed) miss() {
	f.strikes = min(f.strikes+1, maxStrikes)
	f.good, f.owed = 0, 1<<(f.strikes-1)
	f.doubt()
}

// polledFeed is what a poll tells of a feed: its links, and the entries that no push has
// brought and no poll before.
func (w *WebSub) polledFeed(a *account, address *url.URL, header http.Header, doc *document, k kind, fresh []freshEntry) {
	links := websub.Discover(header, websub.Links{Hubs: doc.hubs, Self: doc.self}, address)
	links.Hubs = slices.DeleteFunc(links.Hubs, func(hub string) bool {
		_, err := parseURL(hub, maxURL, w.fetcher.cfg.AllowPrivate)
		return err != nil
	})
	now := w.fetcher.cfg.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	f := w.feeds.known[a.id]
	if f == nil {
		if len(links.Hubs) == 0 || k != newest {
			return
		}
		w.feeds.makeRoom(w.fetcher.cfg.MaxFeeds)
		f = &hubbed{account: a, lag: mostLag / 2}
		f.doubt()
		w.feeds.known[a.id] = f
	}
	if k == newest {
		f.base = address
		if f.link(links.Topic()) {
			w.change()
		}
	}
	f.shows(fresh, k, now)
	if w.judge(f, now) > 0 {
		w.bell.Ring()
	}
}

// link takes over a feed's topic, and reports whether it has changed.
func (f *hubbed) link(topic websub.Topic) bool {
	none := websub.Topic{}
	switch {
	case f.topic == topic:
		f.absent = 0
		return false
	case f.topic != none && f.absent+1 < patience:
		f.absent++
		return false
	}
	f.absent, f.topic = 0, topic
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

// judge takes a feed whose hub has left out an entry out of trust, and with the third one
// in a row all of the hub. It returns how long to wait until there may be more to judge, 0
// for ever. w.mu is held.
func (w *WebSub) judge(f *hubbed, now time.Time) (wait time.Duration) {
	id, from, wait := f.missed(now)
	if id == "" {
		return wait
	}
	w.stats.Misses++
	w.cfg.Logger.Warn("a feed's hub has left out an entry", "feed", upstream.PlainURL(f.account.name), "topic", upstream.PlainURL(f.topic.URL),
		"entry", id, "after", now.Sub(from))
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
		return 0
	}
	delete(w.feeds.missed, hub)
	for _, other := range w.feeds.known {
		if other.trusted && w.subscriber.Hub(other.topic) == hub {
			other.doubt()
		}
	}
	w.cfg.Logger.Warn("a hub leaves out entries of several feeds", "hub", upstream.PlainURL(hub))
	return 0
}
