package streamwatch_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/check"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// fleetWorld is a platform, a receiver and a store, with engines that share them.
type fleetWorld struct {
	t        *testing.T
	platform *enginetest.Platform
	receiver *enginetest.Receiver
	key      deliver.Secret
	store    *memory.Store
	interval time.Duration
	tune     func(*streamwatch.Config)
	watches  []check.Watch

	mu    sync.Mutex
	polls map[string][]polled // by account
}

// polled is a poll of an account.
type polled struct {
	at time.Time
	by string
}

// newFleetWorld makes one with so many accounts, in monitors of ten.
func newFleetWorld(t *testing.T, accounts int) *fleetWorld {
	w := &fleetWorld{t: t, interval: 2 * time.Second, polls: map[string][]polled{}, key: deliver.GenerateSecret()}
	w.platform = enginetest.NewPlatform(enginetest.PlatformConfig{Seed: 7, Accounts: enginetest.AccountNames(accounts), Latency: 30 * time.Millisecond})
	w.receiver = enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: w.key})
	w.store = memory.New(memory.Options{})
	return w
}

// engine is a node of the world's fleet, and what can be done to it from outside.
type engine struct {
	*streamwatch.Engine
	w       *fleetWorld
	name    string
	severed atomic.Bool                   // from the store, and from the platform
	blind   atomic.Bool                   // the platform cannot be reached
	stalled atomic.Pointer[chan struct{}] // commits wait until it is closed; nil for none
	slow    atomic.Pointer[chan struct{}] // answers come when it is closed; nil for at once
	slower  atomic.Bool                   // calls that read cursors take 3 s
}

var errSevered = errors.New("the connection is gone")

func (w *fleetWorld) engine(name string) *engine {
	w.t.Helper()
	n, store := &engine{w: w, name: name}, &tapped{Store: w.store}
	store.on(func(_ context.Context, call string) error {
		if until := n.stalled.Load(); until != nil && call == "Commit" {
			<-*until
		}
		if call == "Cursors" && n.slower.Load() {
			<-time.After(3 * time.Second)
		}
		if n.severed.Load() {
			return errSevered
		}
		return nil
	})
	cfg := streamwatch.Config{
		Fetcher: n, Store: store, Webhook: webhook.Config{Transport: w.receiver.RoundTripper()},
		Fleet: &streamwatch.FleetConfig{Name: name},
	}
	if w.tune != nil {
		w.tune(&cfg)
	}
	n.Engine = newEngine(w.t, cfg)
	return n
}

// start makes and starts nodes.
func (w *fleetWorld) start(names ...string) []*engine {
	w.t.Helper()
	var nodes []*engine
	for _, name := range names {
		n := w.engine(name)
		if err := n.Start(w.t.Context()); err != nil {
			w.t.Fatal(err)
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// watch makes a monitor for every ten accounts, through the nodes in turn.
func (w *fleetWorld) watch(accounts int, through ...*engine) {
	w.t.Helper()
	names := enginetest.AccountNames(accounts)
	for i, group := range slices.Collect(slices.Chunk(names, 10)) {
		w.monitor(through[i%len(through)], group)
	}
}

func (w *fleetWorld) monitor(through *engine, accounts []string) {
	w.t.Helper()
	m := create(w.t, through.Engine, monitor.CreateRequest{Name: fmt.Sprint("m", len(w.watches)), Usernames: accounts,
		PollInterval: w.interval, WebhookURL: "https://hooks.example.com/x", WebhookSecret: w.key})
	w.watches = append(w.watches, check.Watch{MonitorID: m.ID, Accounts: accounts, Since: m.CreatedAt})
}

// check fails the test for each post that was not delivered exactly once.
func (w *fleetWorld) check() {
	w.t.Helper()
	if err := check.Check(w.platform.Posted(), w.watches, w.receiver.Deliveries()).Err(); err != nil {
		w.t.Error(err)
	}
}

// pollsOf returns the polls of an account, the first of each poll only.
func (w *fleetWorld) pollsOf(account string) []polled {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.polls[strings.ToLower(account)])
}

// pollsBy counts a node's polls of some accounts, "" for those of all nodes.
func (w *fleetWorld) pollsBy(node string, accounts ...string) (n int) {
	for _, name := range accounts {
		for _, p := range w.pollsOf(name) {
			if node == "" || p.by == node {
				n++
			}
		}
	}
	return n
}

// within waits, and fails the test for each account that nobody has polled since.
func (w *fleetWorld) within(what string, bound time.Duration) {
	w.t.Helper()
	since := time.Now()
	pass(bound)
	for _, watch := range w.watches {
		for _, account := range watch.Accounts {
			if polls := w.pollsOf(account); len(polls) == 0 || polls[len(polls)-1].at.Before(since) {
				w.t.Errorf("%s: %s is not polled within %s", what, account, bound)
			}
		}
	}
}

// Timeline notes who polls.
func (n *engine) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	if n.severed.Load() || n.blind.Load() {
		return fetcher.Page{}, errSevered // a dead process polls nothing
	}
	if q.Cursor == "" {
		n.w.mu.Lock()
		key := strings.ToLower(q.Username)
		n.w.polls[key] = append(n.w.polls[key], polled{time.Now(), n.name})
		n.w.mu.Unlock()
	}
	if until := n.slow.Load(); until != nil {
		select {
		case <-*until:
		case <-ctx.Done():
			return fetcher.Page{}, ctx.Err()
		}
	}
	return n.w.platform.Timeline(ctx, q)
}

// stop shuts a node down as an operator does.
func (n *engine) stop() {
	n.w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := n.Shutdown(ctx); err != nil {
		n.w.t.Errorf("%s: %v", n.name, err)
	}
}

func (n *engine) sever() { n.severed.Store(true) }

// kill ends a node without a word to the store: it is cut off, then ended.
func (n *engine) kill() {
	n.sever()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_ = n.Shutdown(ctx)
}

// Three engines share a store: each account is polled by one of them at its interval, and every post
// comes once. Each of them plans for all.
func TestFleetSharesTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 300
		w := newFleetWorld(t, accounts)
		w.tune = func(c *streamwatch.Config) { c.Roles.Search = w.platform }
		nodes := w.start("a", "b", "c")
		pass(10 * time.Second) // they take their parts
		w.watch(accounts, nodes...)
		r := createRule(t, nodes[0].Engine, rule.CreateRequest{Tag: "r", Query: "rockets", Interval: 10 * time.Second})
		pass(10 * time.Second)
		for _, n := range nodes { // later, polls have more than one page
			plan, err := n.Plan(t.Context(), 5)
			if err != nil || plan.Accounts != accounts || !near(plan.Now.CallsPerMinute, 30*accounts+6, 0.02) || len(plan.Other) != 1 || len(plan.Queries) != 1 {
				t.Errorf("%s plans for %d accounts and %d queries, %.1f calls a minute, %v", n.name, plan.Accounts, len(plan.Queries), plan.Now.CallsPerMinute, err)
			}
		}
		begun := time.Now()
		ok(t, w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 100, Total: 100 * testsize.Of(12, 30, 60)}))
		pass(10 * time.Second)
		lasted := time.Since(begun)
		shares := map[string]int{}
		for _, name := range enginetest.AccountNames(accounts) {
			polls := slices.DeleteFunc(w.pollsOf(name), func(p polled) bool { return p.at.Before(begun) })
			want := int(lasted / w.interval)
			if n := len(polls); n < want-1 || n > want+1 {
				t.Fatalf("%s is polled %d times in %s, want %d", name, n, lasted, want)
			}
			for _, p := range polls {
				if p.by != polls[0].by {
					t.Errorf("%s is polled by %s and %s", name, polls[0].by, p.by)
				}
			}
			shares[polls[0].by]++
		}
		for _, n := range nodes {
			if got := shares[n.name]; got < accounts/3-40 || got > accounts/3+40 || n.Nodes() != 3 {
				t.Errorf("%s polls %d of %d accounts, and counts %d nodes; want about a third, and 3", n.name, got, accounts, n.Nodes())
			}
			if st, known, err := n.Query(t.Context(), r.Query); err != nil || !known || st.Node == "" {
				t.Errorf("%s: query %+v, %t, %v: want the node that searches", n.name, st, known, err)
			}
		}
		for _, d := range w.receiver.Deliveries() {
			if late := d.FirstAt.Sub(d.DetectedAt); late > 100*time.Millisecond { // another node may send it
				t.Errorf("%s is sent %s after it was found", d.ID, late)
			}
		}
		for _, n := range nodes {
			n.stop()
		}
		w.check()
	})
}

// A node dies, another is stopped and comes back: what each had is polled by the others
// within the time that is promised, and every post comes once or, if it was sent and not
// recorded, twice.
func TestFleetTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		accounts := testsize.Of(40, 80, 200)
		w := newFleetWorld(t, accounts)
		nodes := w.start("a", "b", "c")
		w.watch(accounts, nodes...)
		pass(15 * time.Second)
		posting := make(chan error, 1)
		go func() {
			posting <- w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: float64(accounts) / 4, Total: accounts / 4 * 120})
		}()
		pass(20 * time.Second)
		nodes[0].kill()
		w.within("after a crash", w.interval+12*time.Second)
		pass(20 * time.Second)
		nodes[1].stop()
		w.within("after a planned stop", w.interval+2*time.Second)
		nodes[1] = w.start("b")[0]
		pass(20 * time.Second)
		if err := <-posting; err != nil {
			t.Fatal(err)
		}
		pass(time.Minute) // claims of the dead end
		nodes[1].stop()
		nodes[2].stop()
		w.check()
	})
}

// A node that takes over polls an account only when it has set all that watch it, however long that
// takes: what one poll reads counts as read for all, also when the node then dies.
func TestFleetTakesOverSlowly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 4
		w := newFleetWorld(t, accounts)
		w.tune = func(c *streamwatch.Config) { c.Detect.Overlap = 2 * time.Second }
		first := w.start("a")[0]
		for n := range accounts { // each monitor has an account more, whose cursor is read
			w.monitor(first, enginetest.AccountNames(n+1))
		}
		pass(15 * time.Second)
		posting := make(chan error, 1)
		go func() {
			posting <- w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 2 * accounts, Total: 2 * accounts * 60})
		}()
		pass(10 * time.Second)
		first.kill()
		second := w.engine("b")
		second.slower.Store(true)
		ok(t, second.Start(t.Context()))
		for w.pollsBy("b", enginetest.AccountNames(1)...) == 0 {
			pass(time.Second)
		}
		second.kill()
		third := w.start("c")[0]
		if err := <-posting; err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Minute)
		third.stop()
		w.check()
	})
}

// A change through one node holds on all of them: at once what a pause ends, and what a monitor
// begins; and a webhook that is resumed gets at once what was kept for it.
func TestFleetChangesThroughAnyNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 100
		w := newFleetWorld(t, accounts)
		nodes := w.start("a", "b", "c")
		pass(10 * time.Second)
		created := time.Now()
		w.watch(accounts, nodes[0])
		pass(250 * time.Millisecond)
		for _, name := range enginetest.AccountNames(accounts) {
			if len(w.pollsOf(name)) == 0 {
				t.Errorf("%s is not polled 250ms after its monitor was made on a", name)
			}
		}
		go w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 100, Total: 4000})
		webhooks := func(through *engine, paused bool) {
			list, err := through.Endpoints().List(t.Context(), "", "")
			ok(t, err)
			for _, ep := range list {
				ok(t, second(through.Endpoints().Update(t.Context(), "", ep.ID, endpoints.Update{Paused: &paused})))
			}
		}
		webhooks(nodes[0], true)
		pass(15*time.Second - time.Since(created)%time.Second)
		before := w.receiver.Stats().Accepted
		webhooks(nodes[1], false)
		pass(3 * time.Second)
		if n := w.receiver.Stats().Accepted - before; n < 1500 {
			t.Errorf("the webhooks got %d of what was kept for 15 s", n)
		}
		paused := monitor.Paused
		for i, watch := range w.watches {
			begun := time.Now()
			ok(t, second(nodes[i%3].Monitors().Update(t.Context(), "", watch.MonitorID, monitor.UpdateRequest{Status: &paused})))
			if took := time.Since(begun); took > 150*time.Millisecond {
				t.Errorf("pause through %s took %s, want at most 150ms", nodes[i%3].name, took)
			}
		}
		events := func() int {
			list, err := w.store.Ports().Log.Events(t.Context(), "", 0, 1_000_000)
			ok(t, err)
			return len(list)
		}
		found := events()
		pass(20 * time.Second)
		if n := events() - found; n > 0 {
			t.Errorf("%d events are committed after Pause has returned", n)
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// An engine that is alone does not start on the store of a fleet, nor erase there.
func TestFleetRefusesALoneEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 10)
		w.tune = func(c *streamwatch.Config) { c.Fleet = nil }
		early := w.engine("early")
		if err := early.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.tune = nil
		nodes := w.start("a")
		early.stop()
		w.tune = func(c *streamwatch.Config) { c.Fleet = nil }
		late := w.engine("late")
		if err := late.Start(t.Context()); !errors.Is(err, fleet.ErrShared) {
			t.Errorf("Start of an engine that is alone, beside a fleet: %v, want fleet.ErrShared", err)
		}
		if _, err := late.Erase(t.Context(), "acme"); !errors.Is(err, fleet.ErrShared) {
			t.Errorf("Erase by an engine that is not started, beside a fleet: %v, want fleet.ErrShared", err)
		}
		nodes[0].stop()
		if err := late.Start(t.Context()); err != nil {
			t.Errorf("Start when the fleet has gone: %v", err)
		}
		late.stop()
	})
}

// The polls that a dead node has not made are made up for: between two polls of an account passes at
// most its interval, and the time until the others have taken over.
func TestFleetMakesUpForMissedPolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 100
		w := newFleetWorld(t, accounts)
		w.interval = time.Minute
		nodes := w.start("a", "b", "c")
		w.watch(accounts, nodes...)
		pass(5 * time.Minute)
		nodes[0].kill()
		pass(3 * time.Minute)
		nodes[0] = w.start("a")[0] // takes parts that are given: nothing to make up for
		pass(3 * time.Minute)
		polls := 0
		for _, name := range enginetest.AccountNames(accounts) {
			list := w.pollsOf(name)
			polls += len(list)
			for i := range list[1:] {
				if gap := list[i+1].at.Sub(list[i].at); gap > w.interval+12*time.Second {
					t.Errorf("%s was not polled for %s", name, gap)
				}
			}
		}
		if most := accounts * 13; polls > most { // 11 minutes, the first polls, and what is made up for
			t.Errorf("%d polls, want at most %d", polls, most)
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// A budget of calls, and a limit of the platform that one node hits, are those of all nodes.
func TestFleetSharesTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts, rate = 60, 2
		w := newFleetWorld(t, accounts)
		var limited atomic.Bool
		w.tune = func(c *streamwatch.Config) {
			c.Detect = detect.Config{Pace: detect.PaceBudget, FetchRate: rate}
			name, rest := c.Fleet.Name, c.Fetcher
			c.Fetcher = fetchFunc(func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
				if name == "a" && limited.Load() {
					return fetcher.Page{}, &fetcher.RateLimitError{RetryAfter: 10 * time.Minute}
				}
				return rest.Timeline(ctx, q)
			})
		}
		nodes := w.start("a", "b", "c")
		w.watch(accounts, nodes...)
		polls := func(in time.Duration) (n int) {
			from := w.pollsBy("", enginetest.AccountNames(accounts)...)
			pass(in)
			return w.pollsBy("", enginetest.AccountNames(accounts)...) - from
		}
		pass(5 * time.Minute)
		if n := polls(10 * time.Minute); !near(float64(n), rate*600, 0.05) {
			t.Errorf("%d polls in 10 minutes, want %d", n, rate*600)
		}
		for _, n := range nodes {
			if plan, err := n.Plan(t.Context()); err != nil || plan.Accounts != accounts || plan.Now.Budget != rate {
				t.Errorf("%s plans for %d accounts and a budget of %v, %v", n.name, plan.Accounts, plan.Now.Budget, err)
			}
		}
		limited.Store(true)
		pass(10 * time.Second)
		limited.Store(false)
		if n := polls(5 * time.Minute); n > 0 {
			t.Errorf("%d polls while the limit lasts that one node has hit", n)
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// The nodes' clocks differ by minutes, and one jumps by an hour, as the finder of a post commits it:
// deliveries, retries and waits for a limit go by the store's clock.
func TestFleetWithWrongClocks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 60
		w := newFleetWorld(t, accounts)
		var jump atomic.Int64
		var limited, refusing atomic.Bool
		w.receiver = enginetest.NewReceiver(enginetest.ReceiverConfig{Secret: w.key, Answer: func(a enginetest.AttemptInfo) enginetest.Answer {
			if a.N == 1 && refusing.Load() {
				return enginetest.Answer{Status: 503}
			}
			return enginetest.Answer{}
		}})
		w.tune = func(c *streamwatch.Config) {
			name, rest := c.Fleet.Name, c.Fetcher
			c.Now = func() time.Time {
				now := time.Now().Add(map[string]time.Duration{"a": 2 * time.Minute, "c": -2 * time.Minute}[name])
				if name == "a" {
					now = now.Add(time.Duration(jump.Load()))
				}
				return now
			}
			c.Fetcher = fetchFunc(func(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
				if name == "a" && limited.Load() {
					return fetcher.Page{}, &fetcher.RateLimitError{RetryAfter: 10 * time.Second}
				}
				return rest.Timeline(ctx, q)
			})
		}
		nodes := w.start("a", "b", "c")
		w.watch(accounts, nodes...)
		pass(15 * time.Second)
		posted := 0
		for _, step := range []struct {
			what    string
			refused bool // the first attempt
			do      func()
			within  time.Duration
		}{
			{"at once", false, func() {}, 3 * time.Second},
			{"after a retry", true, func() {}, 15 * time.Second},
			{"after a clock has jumped ahead", false, func() { jump.Store(int64(time.Hour)) }, 3 * time.Second},
			{"after a clock has jumped back", true, func() { jump.Store(-int64(time.Hour)) }, 15 * time.Second},
			{"after a limit", false, func() { limited.Store(true); pass(3 * time.Second); limited.Store(false) }, 15 * time.Second},
		} {
			step.do()
			refusing.Store(step.refused)
			for _, name := range enginetest.AccountNames(accounts) {
				w.platform.Post(name, step.what)
			}
			posted += accounts
			pass(step.within)
			if n := int(w.receiver.Stats().Accepted); n != posted {
				t.Errorf("%s: %d of %d posts are delivered within %s", step.what, n, posted, step.within)
			}
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// A node that stops gives its parts when the polls under way have been committed, not before: nobody
// else polls their accounts meanwhile.
func TestFleetGivesWhenPollsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 10
		w := newFleetWorld(t, accounts)
		w.tune = func(c *streamwatch.Config) { c.Detect.FetchTimeout = time.Minute }
		a := w.start("a")[0]
		w.watch(accounts, a)
		pass(5 * time.Second)
		answer := make(chan struct{})
		a.slow.Store(&answer)
		pass(3 * time.Second) // all polls are under way
		stopped := make(chan error, 1)
		go func() { stopped <- a.Shutdown(context.Background()) }()
		b := w.start("b")[0]
		pass(20 * time.Second)
		if n := w.pollsBy("b", enginetest.AccountNames(accounts)...); n > 0 {
			t.Errorf("b has made %d polls while those of a are under way", n)
		}
		close(answer)
		pass(5 * time.Second)
		ok(t, <-stopped)
		if n := w.pollsBy("b", enginetest.AccountNames(accounts)...); n < accounts {
			t.Errorf("b has made %d polls after a has stopped, want at least %d", n, accounts)
		}
		b.stop()
	})
}

// A node that has lost its term joins anew when the commits of that term have ended: its new fence
// would let them in, though others have polled the accounts since.
func TestFleetJoinsAnewWhenCommitsHaveEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const accounts = 10
		w := newFleetWorld(t, accounts)
		nodes := w.start("a", "b")
		a, b := nodes[0], nodes[1]
		w.watch(accounts, a)
		pass(10 * time.Second)
		go w.platform.Run(t.Context(), enginetest.PostRate{PerSecond: 20, Total: 2000})
		stored := make(chan struct{})
		a.stalled.Store(&stored)
		pass(3 * time.Second) // a commit is under way
		a.sever()
		pass(20 * time.Second)
		if err := a.Ready(); !errors.Is(err, streamwatch.ErrNoContact) {
			t.Errorf("Ready without contact: %v", err)
		}
		a.severed.Store(false)
		pass(20 * time.Second)
		if f := a.Stats().Fleet; f.Lost != 1 || b.Nodes() != 1 {
			t.Errorf("a has lost %d terms, and b sees %d nodes, want 1 and 1 while a commit of the lost term is under way", f.Lost, b.Nodes())
		}
		a.stalled.Store(nil)
		close(stored)
		pass(15 * time.Second)
		if f := a.Stats().Fleet; f.Parts == 0 || f.Refused == 0 || b.Nodes() != 2 {
			t.Errorf("a has %d parts, %d of its commits were refused, and b sees %d nodes, want some, some and 2 when it has ended", f.Parts, f.Refused, b.Nodes())
		}
		for _, n := range nodes {
			n.stop()
		}
	})
}

// tells fails the test for each record whose status reason is there, or not, against what is wanted.
func (w *fleetWorld) tells(when string, want bool) {
	w.t.Helper()
	ok(w.t, roles.Monitors(w.store.Ports().Records).Scan(w.t.Context(), func(m monitor.Monitor) error {
		if (m.StatusReason != "") != want {
			w.t.Errorf("%s: monitor %s shows %q", when, m.Name, m.StatusReason)
		}
		return nil
	}))
	ok(w.t, roles.Rules(w.store.Ports().Records).Scan(w.t.Context(), func(r rule.Rule) error {
		if (r.StatusReason != "") != want {
			w.t.Errorf("%s: rule %s shows %q", when, r.Query, r.StatusReason)
		}
		return nil
	}))
}

// searched is a search that fails as its test says.
type searched struct{ refused *atomic.Bool }

func (s searched) Search(context.Context, fetcher.SearchQuery) (fetcher.Page, error) {
	if s.refused.Load() {
		return fetcher.Page{}, &fetcher.StatusError{Code: http.StatusBadRequest}
	}
	return fetcher.Page{}, nil
}

// A monitor or rule shows that its polls fail, and no more that they failed, whichever nodes poll for
// it one after the other, and whichever have the parts of the records' ids.
func TestFleetTellsWhatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const each = 12
		w := newFleetWorld(t, each)
		refused := new(atomic.Bool)
		w.tune = func(c *streamwatch.Config) { c.Roles.Search = searched{refused} }
		fail := func(on bool) {
			refused.Store(on)
			for _, name := range enginetest.AccountNames(each) {
				w.platform.SetSuspended(name, on)
			}
		}
		nodes := w.start("a", "b")
		a, b := nodes[0], nodes[1]
		pass(15 * time.Second)
		fail(true)
		for i, name := range enginetest.AccountNames(each) {
			create(t, a.Engine, monitor.CreateRequest{Name: name, Usernames: []string{name}, PollInterval: w.interval})
			createRule(t, a.Engine, rule.CreateRequest{Tag: name, Query: fmt.Sprint("moon", i), Interval: w.interval})
		}
		pass(time.Minute)
		w.tells("two nodes poll", true)
		a.kill()
		pass(10 * time.Minute)
		w.tells("one node has died", true)
		c := w.start("c")[0]
		pass(10 * time.Minute)
		w.tells("another one has joined", true)
		fail(false)
		pass(10 * time.Minute)
		w.tells("all have recovered", false)
		fail(true)
		pass(30 * time.Minute)
		w.tells("all fail again", true)
		b.kill()
		fail(false) // b tells nobody
		pass(10 * time.Minute)
		w.tells("one has died, and all have recovered", false)
		c.stop()
	})
}

// A rule that a node cannot run, because it lacks the source, shows so until that node is gone.
func TestFleetTellsWhatANodeCannotRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFleetWorld(t, 24)
		w.tune = func(c *streamwatch.Config) {
			if c.Fleet.Name != "a" {
				c.Sources = []streamwatch.Source{{Name: "x", Fetcher: w.platform}}
			}
		}
		nodes := w.start("a", "b")
		pass(15 * time.Second)
		for _, name := range enginetest.AccountNames(24) { // some of parts that b has, some of parts that it takes
			createRule(t, nodes[1].Engine, rule.CreateRequest{Tag: name, Query: "from:" + name, Platform: "x", Interval: time.Minute})
		}
		pass(5 * time.Second)
		w.tells("while a lacks the source", true)
		nodes[0].stop()
		pass(time.Minute)
		w.tells("without a", false)
		nodes[1].stop()
	})
}

// What is restored gets what was published meanwhile also if the node that polls for others dies, or
// stops, before it hears of the restoration.
func TestRestoredThoughThePollerNeverHeardOfIt(t *testing.T) {
	if testsize.Race {
		t.Skip("seconds of virtual polls")
	}
	stopping := func(n *engine, ago time.Duration) <-chan struct{} {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			n.stop()
		}()
		pass(ago)
		return ended
	}
	for name, end := range map[string]func(n *engine) (ended <-chan struct{}){
		"it dies":                     func(n *engine) <-chan struct{} { n.kill(); pass(3 * time.Second); return nil },
		"it began to stop 75 ms ago":  func(n *engine) <-chan struct{} { return stopping(n, 75*time.Millisecond) },
		"it began to stop 300 ms ago": func(n *engine) <-chan struct{} { return stopping(n, 300*time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			eachStream(t, func(t *testing.T, of stream) {
				w := newFleetWorld(t, 1)
				var in inbox
				w.tune = func(c *streamwatch.Config) { c.Roles.Search, c.OnEvent = w.platform, in.handle }
				nodes := w.start("a", "b")
				pass(15 * time.Second)
				account := enginetest.AccountNames(1)[0]
				goesOn := of.make(t, nodes[0].Engine, "goes on", account, "")
				id := of.make(t, nodes[0].Engine, "suspended", account, "")
				pass(time.Minute)
				of.does(t, nodes[0].Engine, id, "suspend")
				for range 30 {
					w.platform.Post(account, "moon")
					pass(5 * time.Minute)
				}
				st, _, err := nodes[0].Account(t.Context(), account)
				node := st.Node
				if of.kind == deliver.SourceRule {
					var st detect.QueryStatus
					st, _, err = nodes[0].Query(t.Context(), "moon")
					node = st.Node
				}
				ok(t, err)
				polls, lives := nodes[0], nodes[1]
				if node == "b" {
					polls, lives = lives, polls
				}
				ended := end(polls)
				of.does(t, lives.Engine, id, "restore")
				pass(10 * time.Minute)
				if ended != nil {
					<-ended
				}
				lives.stop()
				if n, m := len(in.texts(goesOn)), len(in.texts(id)); n != 30 || m != 30 {
					t.Errorf("who went on got %d posts, who was suspended %d; want 30 each", n, m)
				}
			})
		})
	}
}
