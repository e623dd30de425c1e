package simulation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A day of hundreds of accounts, in virtual time: posts come by the time of
// day and show up late, the platform halves its rate limit for an hour, is down
// for half an hour, and the engine is restarted on its store. A short run or one
// under the race detector has a smaller world, with the same things in it, and
// STREAMWATCH_LONG=1 one of ten thousand accounts.
func TestSimulatedDay(t *testing.T) {
	w := simulation{accounts: testsize.Of(100, 300, 10_000), lasts: 24 * time.Hour, interval: 15 * time.Minute}
	if testing.Short() || testsize.Race {
		w.lasts, w.interval = 2*time.Hour, time.Minute
	}
	began := time.Now()
	var calls int
	synctest.Test(t, func(t *testing.T) { calls = w.run(t) })
	took := time.Since(began)
	t.Logf("%d calls in %s: %d ns each", calls, took.Round(time.Millisecond), took.Nanoseconds()/int64(max(calls, 1)))
}

// simulation is what happens, in parts of how long it lasts: the limit is
// halved after 6/24 for 1/24, the outage comes after 10/24 for 1/48, the restart
// after 15/24 and takes 1/720.
type simulation struct {
	accounts        int
	lasts, interval time.Duration
}

const (
	simulatedBurst = 2  // Detect.FetchBurst
	simulatedSlots = 64 // Detect.FetchSlots
	simulatedHeld  = 4  // calls with a permit that wait for the limit to open: one per shard, and of polls between two pages
)

// rate is the budget, in calls per second: a fifth more than polling needs.
func (w simulation) rate() float64 { return 1.2 * float64(w.accounts) / w.interval.Seconds() }

// run returns how many calls the platform got.
func (w simulation) run(t *testing.T) int {
	start := time.Now()
	p := newSimulated(w, start)
	store := memory.New(memory.Options{})
	engine := func() *streamwatch.Engine {
		return newEngine(t, streamwatch.Config{
			Fetcher: p, Store: store, OnEvent: p.handle,
			OnGap: func(g detect.Gap) { t.Errorf("gap: %s", g) },
			Detect: detect.Config{FetchRate: w.rate(), FetchBurst: simulatedBurst,
				FetchSlots: simulatedSlots, Shards: 2},
		})
	}
	until := func(at time.Duration) { pass(time.Until(start.Add(at))) }
	shutdown := func(e *streamwatch.Engine) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := e.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	}

	e := engine()
	for from := 0; from < w.accounts; from += 100 {
		names := make([]string, 100)
		for i := range names {
			names[i] = fmt.Sprint("account", from+i)
		}
		create(t, e, monitor.CreateRequest{Name: names[0], Usernames: names, PollInterval: w.interval})
	}
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	stopped, started := w.restart()
	until(stopped)
	shutdown(e)
	until(started)
	e = engine()
	if err := e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(w.lasts + 2*w.interval) // the last posts are found, too
	shutdown(e)
	if err := store.Close(t.Context()); err != nil {
		t.Error(err)
	}
	p.check(t)
	return len(p.calls)
}

// simulated is the platform. It keeps its own record of what it published, what
// it was asked and what the handler got.
type simulated struct {
	world   simulation
	start   time.Time
	posts   []simulatedPost // by id
	account [][]int32       // indexes of posts, oldest first

	mu      sync.Mutex
	calls   []time.Duration // when, since start, in order
	window  time.Duration   // beginning of the current one
	used    int             // calls answered in it
	refused []int           // by window
	failed  int             // in the outage
	older   int             // calls for older pages
	got     []simulatedReceipt
}

type simulatedPost struct {
	id          string
	at, visible time.Duration // since start; before it for history
}

type simulatedReceipt struct {
	times    int
	detected time.Duration
}

const simulatedPage = 20

// window is how long the platform counts calls.
func (w simulation) window() time.Duration { return w.interval / 2 }

// limit is how many calls a window allows: the budget, or half of it.
func (w simulation) limit(at time.Duration) int {
	all := w.rate()*w.window().Seconds() + simulatedBurst + simulatedHeld
	if w.squeezed(at) {
		all /= 2
	}
	return int(all)
}

func (w simulation) squeezed(at time.Duration) bool {
	return at >= w.lasts*6/24 && at < w.lasts*7/24
}

func (w simulation) outage() (from, to time.Duration) {
	return w.lasts * 10 / 24, w.lasts*10/24 + w.lasts/48
}

func (w simulation) restart() (stopped, started time.Duration) {
	return w.lasts * 15 / 24, w.lasts*15/24 + w.lasts/720
}

// deadline is when a post must have been found: within an interval and what
// showing up late and queueing take, or so long after a trouble.
func (w simulation) deadline(at time.Duration) time.Duration {
	const rest = 6 * time.Minute // Detect.Backoff.Max and its jitter
	by := at + w.interval*11/10 + 5*time.Second
	broke, restored := w.outage()
	stopped, started := w.restart()
	for _, trouble := range []struct{ from, to, by time.Duration }{
		{0, w.interval, 2*w.interval + w.interval/10}, // all accounts at once
		{w.lasts*6/24 - w.interval, w.lasts*7/24 + w.interval, w.lasts*7/24 + 3*w.interval},
		{broke - w.interval, restored + rest + w.interval, restored + rest + 2*w.interval},
		{stopped - w.interval, started, started + w.interval*11/10 + 5*time.Second},
	} {
		if at >= trouble.from && at < trouble.to {
			by = max(by, trouble.by)
		}
	}
	return by
}

// newSimulated publishes all posts in advance. Most accounts post every 20th
// interval on average, some at 0.7 of them, few 6 times in each; the rate
// follows the time of day at the account's place.
func newSimulated(w simulation, start time.Time) *simulated {
	p := &simulated{world: w, start: start, account: make([][]int32, w.accounts),
		refused: make([]int, int(w.lasts/w.window())+8)}
	r := rand.New(rand.NewPCG(1, 2))
	add := func(i int, at time.Duration) {
		post := simulatedPost{id: strconv.Itoa(1_000_000_000 + len(p.posts)), at: at, visible: at}
		if r.Float64() < 0.2 {
			post.visible += time.Duration(r.Int64N(int64(4 * time.Second)))
		}
		p.account[i] = append(p.account[i], int32(len(p.posts)))
		p.posts = append(p.posts, post)
	}
	for i := range p.account {
		for h := range simulatedPage { // history
			add(i, -time.Duration(simulatedPage-h)*time.Hour)
		}
		perInterval := 0.05
		switch {
		case i%500 == 7:
			perInterval = 6
		case i%20 == 3:
			perInterval = 0.7
		}
		place := r.Float64()
		for at := time.Duration(0); ; {
			// The highest rate, thinned out to the one of the moment.
			at += time.Duration(r.ExpFloat64() / (1.9 * perInterval) * float64(w.interval))
			if at >= w.lasts {
				break
			}
			now := 1 + 0.9*math.Sin(2*math.Pi*(float64(at)/float64(w.lasts)+place))
			if r.Float64()*1.9 < now {
				add(i, at.Truncate(time.Millisecond))
			}
		}
	}
	p.got = make([]simulatedReceipt, len(p.posts))
	return p
}

var errSimulatedOutage = errors.New("the platform is down")

// admit counts a call, and refuses it when the platform is down or the window's
// calls are used up.
func (p *simulated) admit(now time.Duration, cursor string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, now)
	if cursor != "" {
		p.older++
	}
	if now >= p.window+p.world.window() {
		p.window, p.used = now.Truncate(p.world.window()), 0
	}
	if from, to := p.world.outage(); now >= from && now < to {
		p.failed++
		return errSimulatedOutage
	}
	if p.used++; p.used > p.world.limit(now) {
		p.refused[now/p.world.window()]++
		return &fetcher.RateLimitError{RetryAfter: p.window + p.world.window() - now}
	}
	return nil
}

// Timeline implements fetcher.Fetcher. A cursor is the place in the account's
// list before which the page begins.
func (p *simulated) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	now := time.Since(p.start)
	if err := p.admit(now, q.Cursor); err != nil {
		return fetcher.Page{}, err
	}
	i, err := strconv.Atoi(q.Username[len("account"):])
	if err != nil {
		return fetcher.Page{}, err
	}
	list := p.account[i]
	end := sort.Search(len(list), func(k int) bool { return p.posts[list[k]].at > now })
	if q.Cursor != "" {
		if end, err = strconv.Atoi(q.Cursor); err != nil {
			return fetcher.Page{}, err
		}
	}
	pg := fetcher.Page{UserID: q.Username[len("account"):]}
	var reach fetcher.Reach
	shown := 0
	for ; end > 0 && shown < simulatedPage; end-- {
		post := &p.posts[list[end-1]]
		if post.visible > now {
			continue
		}
		shown++
		reach.Add(p.start.Add(post.at))
		if q.Seen != nil && q.Seen(post.id) {
			pg.Skipped++
			continue
		}
		pg.Tweets = append(pg.Tweets, fetcher.Tweet{ID: post.id, Text: "a post", Username: q.Username, PublishedAt: p.start.Add(post.at)})
	}
	pg.OldestAt = reach.Time()
	if end > 0 {
		pg.Next = strconv.Itoa(end)
	}
	return pg, nil
}

// handle is the engine's OnEvent.
func (p *simulated) handle(_ context.Context, e deliver.Event) error {
	id, err := strconv.Atoi(e.TweetID)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	got := &p.got[id-1_000_000_000]
	got.times++
	got.detected = e.DetectedAt.Sub(p.start)
	return nil
}

// check compares what the platform published with what the handler got, and
// the calls with the budget.
func (p *simulated) check(t *testing.T) {
	w := p.world
	published, missed, doubled, history, late := 0, 0, 0, 0, 0
	for i, post := range p.posts {
		n := p.got[i].times
		switch {
		case post.at < 0:
			history += n
			continue
		case n == 0:
			missed++
		case n > 1:
			doubled++
		}
		published++
		if n > 0 && p.got[i].detected > w.deadline(post.at) {
			if late++; late <= 5 {
				t.Errorf("the post of %s was found at %s: want by %s", post.at, p.got[i].detected, w.deadline(post.at))
			}
		}
	}
	if missed != 0 || doubled != 0 || history != 0 || late != 0 {
		t.Errorf("of %d posts %d were missed, %d doubled, %d late; %d from before were handled", published, missed, doubled, late, history)
	}

	refused := 0
	for at, n := range p.refused {
		refused += n
		if n > simulatedSlots || n > 0 && !w.squeezed(time.Duration(at)*w.window()) {
			t.Errorf("%d calls refused in the window from %s", n, time.Duration(at)*w.window())
		}
	}
	if refused == 0 || p.failed == 0 || p.older == 0 {
		t.Errorf("too quiet a day: %d calls refused, %d failed in the outage, %d for older pages", refused, p.failed, p.older)
	}

	herd := int(math.Ceil(w.rate())) + simulatedBurst + simulatedHeld
	most, at := busiestSecond(p.calls, 0)
	_, restored := w.outage()
	_, restarted := w.restart()
	afterOutage, _ := busiestSecond(p.calls, restored)
	afterRestart, _ := busiestSecond(p.calls, restarted)
	if most > herd {
		t.Errorf("%d calls in the second from %s: want at most %d", most, at, herd)
	}
	t.Logf("%d posts; calls: %d refused, %d failed, %d for older pages; in a second at most %d, %d after the outage, %d after the restart; budget %.0f",
		published, refused, p.failed, p.older, most, afterOutage, afterRestart, w.rate())
}

// busiestSecond is the highest number of calls in any second that begins at or
// after from, and where that is.
func busiestSecond(calls []time.Duration, from time.Duration) (most int, at time.Duration) {
	begin, _ := slices.BinarySearch(calls, from)
	for end := begin; end < len(calls); end++ {
		for calls[end]-calls[begin] >= time.Second {
			begin++
		}
		if n := end - begin + 1; n > most {
			most, at = n, calls[begin]
		}
	}
	return most, at
}
