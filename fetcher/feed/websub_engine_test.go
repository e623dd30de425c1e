package feed_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

const (
	engineFeeds = 40
	engineHubs  = 4
	interval    = 5 * time.Minute  // between polls of a feed
	audit       = 30 * time.Minute // while its hub is trusted
)

// watched is an engine on w's feeds, and what it found.
type watched struct {
	*web
	t      *testing.T
	rng    *rand.Rand
	store  *memory.Store
	life   *mortal // what an engine has of store
	names  []string
	engine *streamwatch.Engine
	webSub *feed.WebSub

	gotMu sync.Mutex
	got   map[string][]time.Time // when an entry was handled, by its text
	posts map[string]time.Time   // entries, and when they were published
}

func newWatched(t *testing.T, feeds int) *watched {
	w := &watched{web: newWeb(t), t: t, rng: rand.New(rand.NewPCG(7, 8)), store: memory.New(memory.Options{}), got: map[string][]time.Time{}, posts: map[string]time.Time{}}
	for i := range feeds {
		w.names = append(w.names, w.add(fmt.Sprint("feed", i), hubOf(i)))
	}
	w.start()
	if _, err := w.engine.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: w.names, PollInterval: interval}); err != nil {
		t.Fatal(err)
	}
	pass(2 * interval)
	return w
}

func hubOf(i int) string { return fmt.Sprintf("https://hub%d.example.com/", i%engineHubs) }

func (w *watched) start() {
	f, ws := w.open(feed.WebSubConfig{Lease: 24 * time.Hour})
	w.life = &mortal{Store: w.store}
	e, err := streamwatch.New(streamwatch.Config{
		Fetcher: f, Roles: fetcher.Roles{Stream: ws}, Store: w.life, OnEvent: w.handle,
		Detect: detect.Config{Shards: 2, AuditEvery: audit},
	})
	if err == nil {
		err = e.Start(w.t.Context())
	}
	if err != nil {
		w.t.Fatal(err)
	}
	w.engine, w.webSub = e, ws
}

// stop ends the engine. Hubs reach nobody then.
func (w *watched) stop() {
	if err := w.engine.Shutdown(w.t.Context()); err != nil {
		w.t.Error(err)
	}
	w.set(func() { w.handler = nil })
}

// kill ends the engine as a kill does, some time after the last commit that reached the
// store.
func (w *watched) kill() {
	ctx, cancel := context.WithCancel(w.t.Context())
	cancel()
	if err := w.engine.Shutdown(ctx); err != nil && !errors.Is(err, context.Canceled) {
		w.t.Error(err)
	}
	w.set(func() { w.handler = nil })
}

// mortal is a store until its process dies.
type mortal struct {
	storage.Store
	dead atomic.Bool
}

func (m *mortal) Journal() detect.Journal { return mortalJournal{m.Store.Journal(), m} }

type mortalJournal struct {
	detect.Journal
	life *mortal
}

func (j mortalJournal) Commit(ctx context.Context, bs []*detect.Batch) error {
	if j.life.dead.Load() {
		return errors.New("the process was killed")
	}
	return j.Journal.Commit(ctx, bs)
}

func (w *watched) handle(_ context.Context, e deliver.Event) error {
	w.gotMu.Lock()
	defer w.gotMu.Unlock()
	w.got[e.TextPreview] = append(w.got[e.TextPreview], time.Now())
	return nil
}

// publish has one of the feeds, n of them from the first on, publish an entry. Its hub
// pushes it as hubs do, while the test goes on.
func (w *watched) publish(first, n int) {
	text := fmt.Sprint("entry number ", len(w.posts))
	w.posts[text] = time.Now()
	go w.post(w.names[first+w.rng.IntN(n)], text)
}

// check wants each entry once, within a time. It returns how long they took, in order.
func (w *watched) check(within time.Duration) (took []time.Duration) {
	w.t.Helper()
	lost, doubled := 0, 0
	for text, at := range w.posts {
		switch got := w.got[text]; {
		case len(got) == 0:
			lost++
		case len(got) > 1:
			doubled++
		default:
			d := got[0].Sub(at)
			took = append(took, d)
			if d > within {
				w.t.Errorf("%s took %s, want %s at most", text, d, within)
			}
		}
	}
	if lost+doubled > 0 || len(w.got) != len(w.posts) {
		w.t.Errorf("%d of %d entries are lost, %d doubled; %d are handled", lost, len(w.posts), doubled, len(w.got))
	}
	slices.Sort(took)
	return took
}

// Pings, with renewals that are lost, hubs that die without a word, pushes that get lost,
// a restart and a kill: every entry is found, once, and those of hubs that work at once.
func TestWebSubInAnEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pings := testsize.Of(150, 300, 1000)
		at := func(permille int) int { return pings * permille / 1000 }
		w := newWatched(t, engineFeeds)
		w.set(func() { w.lease = time.Duration(pings) * 20 * time.Second })
		for i := range pings {
			switch i {
			case at(300): // renewals are lost: leases end, and nobody says so
				w.set(func() {
					w.refuses = func(hub string, _ int) *http.Response {
						if hub == hubOf(0) {
							return answer(nil, http.StatusServiceUnavailable, "", "Retry-After", "120")
						}
						return nil
					}
				})
			case at(400): // a hub goes on to verify, and pushes nothing any more
				w.set(func() { w.dead[hubOf(1)] = true })
			case at(500):
				w.stop()
				pass(20 * time.Minute)
				w.start()
			case at(550): // what hubs push last is taken, and never committed
				w.life.dead.Store(true)
			case at(550) + 5:
				w.kill()
				w.start()
			case at(600):
				w.set(func() { w.refuses = nil })
			case at(800):
				w.set(func() { delete(w.dead, hubOf(1)) })
			case at(900): // all that a hub pushes is empty
				w.set(func() { w.thin = true })
			}
			w.set(func() { w.only = i%2 == 0 })
			if i == at(700) || i == at(700)+1 { // a whole hub at once, whose pushes get lost
				w.set(func() { w.dead[hubOf(2)] = true })
				w.publish(2, 1)
				synctest.Wait()
				w.set(func() { delete(w.dead, hubOf(2)) })
			}
			pass(time.Duration(w.rng.ExpFloat64() * float64(2*time.Minute)))
			w.publish(0, engineFeeds)
		}
		pass(2 * audit)
		st, s := w.engine.Stats().Detect.Stream, w.webSub.Stats()
		w.stop()
		took := w.check(audit + interval + time.Minute)
		after := func(q float64) time.Duration { return took[int(q*float64(len(took)-1))] }
		t.Logf("found after p50 %s, p90 %s, p99 %s, max %s; %d polls, %d pushes repeated; answers %v; %+v", after(.5), after(.9), after(.99), after(1), w.polls, w.repeats, w.statuses, s)
		if after(.5) > time.Second {
			t.Errorf("half of the entries took %s or more", after(.5))
		}
		if st.Misses != 0 || st.Silences != 0 || !st.Trusted {
			t.Errorf("the stream as a whole lost trust: %+v", st)
		}
	})
}

// Hubs of quiet feeds are silent for days, which is no fault. When nothing reaches the
// handler any more, entries are found by polls, and soon as without a WebSub.
func TestWebSubSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWatched(t, 6)
		days := testsize.Of(2, 4, 14)
		for range days * 6 {
			pass(time.Duration(w.rng.ExpFloat64() * float64(4*time.Hour)))
			w.publish(0, 6)
		}
		pass(time.Minute)
		if st := w.engine.Stats().Detect.Stream; st.Silences+st.Disconnects+st.Misses+st.Gaps != 0 || !st.Trusted || st.Accounts != 6 {
			t.Errorf("quiet feeds: %+v", st)
		}
		polls := w.count(&w.polls)
		pass(24 * time.Hour)
		if n := w.count(&w.polls) - polls; n > 6*50 {
			t.Errorf("%d polls of 6 feeds a day while their hubs are trusted, want one in half an hour", n)
		}
		w.set(func() { w.handler = http.NotFoundHandler() }) // the proxy has forgotten the way
		for range 100 {
			pass(time.Duration(w.rng.ExpFloat64() * float64(10*time.Minute)))
			w.publish(0, 6)
		}
		before := time.Now()
		for range 20 {
			pass(time.Duration(w.rng.ExpFloat64() * float64(10*time.Minute)))
			w.publish(0, 6)
		}
		pass(2 * audit)
		if st := w.webSub.Stats(); st.Trusted != 0 {
			t.Errorf("hubs that reach nobody are trusted: %+v", st)
		}
		w.stop()
		w.check(audit + interval + time.Minute)
		for text, at := range w.posts {
			if d := w.got[text][0].Sub(at); at.After(before) && d > interval+time.Second {
				t.Errorf("%s took %s once no hub was trusted", text, d)
			}
		}
	})
}
