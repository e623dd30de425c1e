package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/storage"
)

// load does what a service does with a store, for one owner: polls that find posts, which
// cost one credit each; requests, which cost three; and deliveries. It notes all calls and
// what was acknowledged.
type load struct {
	s     storage.Store
	owner string
	pace  time.Duration // between two calls of a worker

	group sync.WaitGroup
	stop  context.CancelFunc

	mu           sync.Mutex
	polls        []poll
	requests     []string
	acknowledged map[string]bool // tweets of commits that returned nil
	failed       map[string]int  // calls, by method and error
	calls        int
	last         time.Time     // when a commit was acknowledged last
	pause        time.Duration // longest time between two of them
}

// poll is what a timeline shows, the same at each poll.
type poll struct {
	target string
	tweets []string
}

const (
	requestCost = 3
	loadPaid    = billing.Credits(1_000_000)
	loadLease   = 2 * time.Second
)

// startLoad tops the owner's credits up and starts the load.
func startLoad(t testing.TB, s storage.Store, owner string, pace time.Duration) *load {
	t.Helper()
	payIn(t, s, owner, loadPaid)
	ctx, stop := context.WithCancel(t.Context())
	l := &load{s: s, owner: owner, pace: pace, stop: stop, acknowledged: map[string]bool{}, failed: map[string]int{}, last: time.Now()}
	t.Cleanup(func() {
		l.end()
		if t.Failed() {
			t.Logf("%d calls, %d posts acknowledged, the last %v ago, failed: %v", l.calls, len(l.acknowledged), time.Since(l.last), l.failed)
		}
	})
	for g := range 4 {
		l.run(ctx, uint64(g), func(i int, r *rand.Rand) { l.poll(ctx, g, i, r) })
	}
	for g := range 2 {
		l.run(ctx, uint64(10+g), func(i int, r *rand.Rand) { l.request(ctx, fmt.Sprintf("request %s-%d-%d", l.owner, g, i), r) })
	}
	for g := range 2 {
		l.run(ctx, uint64(20+g), func(_ int, r *rand.Rand) { l.deliver(ctx, time.Now(), r) })
	}
	return l
}

// run makes a worker call do until the load ends.
func (l *load) run(ctx context.Context, seed uint64, do func(i int, r *rand.Rand)) {
	r := rand.New(rand.NewPCG(seed, 3))
	l.group.Go(func() {
		tick := time.NewTicker(l.pace)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				do(i, r)
			}
		}
	})
}

// end stops the workers and waits for them.
func (l *load) end() {
	l.stop()
	l.group.Wait()
}

// asked notes the outcome of a call, unless the end of the load cancelled it.
func (l *load) asked(method string, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if err != nil && !errors.Is(err, context.Canceled) {
		l.failed[method+": "+err.Error()]++
	}
}

func (l *load) poll(ctx context.Context, g, i int, r *rand.Rand) {
	p := poll{target: fmt.Sprintf("target %s-%d", l.owner, g)}
	for n := range 1 + r.IntN(4) {
		p.tweets = append(p.tweets, fmt.Sprintf("%s-%d-%d-%d", l.owner, g, i, n))
	}
	l.mu.Lock()
	l.polls = append(l.polls, p)
	l.mu.Unlock()
	err := l.commit(ctx, p)
	l.asked("Journal.Commit", err)
	if err != nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, tweet := range p.tweets {
		l.acknowledged[tweet] = true
	}
	now := time.Now()
	l.pause, l.last = max(l.pause, now.Sub(l.last)), now
}

func (l *load) commit(ctx context.Context, ps ...poll) error {
	var batches []*detect.Batch
	for _, p := range ps {
		b := &detect.Batch{Cursor: &detect.Cursor{Target: p.target, Since: time.Now()}, DeliverBy: time.Now()}
		for _, tweet := range p.tweets {
			b.Events = append(b.Events, postOf(sourceNamed(l.owner, "of "+l.owner), tweet, "log"))
			b.Charges = append(b.Charges, billing.Entry{ID: "charge for " + tweet, Owner: l.owner, Kind: billing.KindMonitor, Amount: -1})
		}
		batches = append(batches, b)
	}
	return l.s.Ports().Journal.Commit(ctx, batches)
}

// request reserves its cost and commits that as a charge. One in five fails in the end,
// and releases the credits.
func (l *load) request(ctx context.Context, id string, r *rand.Rand) {
	if r.IntN(5) == 0 {
		id += " failing"
	}
	l.mu.Lock()
	l.requests = append(l.requests, id)
	l.mu.Unlock()
	l.settleRequest(ctx, id)
}

func (l *load) settleRequest(ctx context.Context, id string) error {
	err := l.s.Ports().Ledger.Reserve(ctx, billing.Reservation{ID: id, Owner: l.owner, Amount: requestCost})
	l.asked("Ledger.Reserve", err)
	if err != nil && !errors.Is(err, billing.ErrResolved) {
		return err
	}
	if fails(id) {
		err = l.s.Ports().Ledger.Release(ctx, id)
		l.asked("Ledger.Release", err)
		return err
	}
	err = l.s.Ports().Ledger.Commit(ctx, id, billing.Entry{Kind: billing.KindRequest, At: time.Now()})
	l.asked("Ledger.Commit", err)
	return err
}

func fails(request string) bool { return request[len(request)-1] == 'g' }

// deliver claims deliveries and settles them; some attempts fail, and are retried soon.
func (l *load) deliver(ctx context.Context, now time.Time, r *rand.Rand) (int, error) {
	ds, err := l.s.Ports().Outbox.Claim(ctx, deliver.ClaimRequest{Now: now, Lease: loadLease, Limit: 50})
	l.asked("Outbox.Claim", err)
	if err != nil || len(ds) == 0 {
		return 0, err
	}
	var ss []deliver.Settlement
	for _, d := range ds {
		st := deliver.Settlement{DeliveryID: d.ID, State: deliver.StateDelivered, Attempt: &deliver.Attempt{N: d.Attempts + 1, At: now, StatusCode: 200}}
		if d.Attempts == 0 && r.IntN(10) == 0 {
			st.State, st.Attempt.StatusCode, st.Due = deliver.StateRetrying, 503, now.Add(50*time.Millisecond)
		}
		ss = append(ss, st)
	}
	err = l.s.Ports().Outbox.Settle(ctx, ss...)
	l.asked("Outbox.Settle", err)
	return len(ds), err
}

// lost returns the acknowledged posts that are not in the store.
func (l *load) lost(t testing.TB) []string {
	t.Helper()
	there := map[string]bool{}
	for _, ev := range allEvents(t, l.s, l.owner) {
		there[ev.TweetID] = true
	}
	var lost []string
	for tweet := range l.acknowledged {
		if !there[tweet] {
			lost = append(lost, tweet)
		}
	}
	return lost
}

// repair does what a service does anyway. Polls find the posts of the overlap again, which
// here are all posts; requests are repeated; deliveries are claimed when their leases have
// ended.
func (l *load) repair(t testing.TB) {
	t.Helper()
	ctx := t.Context()
	if err := l.s.Ports().Ledger.Append(ctx, billing.Entry{ID: "top-up of " + l.owner, Owner: l.owner, Kind: billing.KindTopUp, Amount: loadPaid}); err != nil {
		t.Fatalf("top-up: %v", err)
	}
	for ps := l.polls; len(ps) > 0; {
		n := min(len(ps), 50)
		if err := l.commit(ctx, ps[:n]...); err != nil {
			t.Fatalf("commit of the overlap: %v", err)
		}
		ps = ps[n:]
	}
	for _, id := range l.requests {
		if err := l.settleRequest(ctx, id); err != nil {
			t.Fatalf("%s again: %v", id, err)
		}
	}
	r := rand.New(rand.NewPCG(4, 4))
	for later := time.Now().Add(loadLease); ; later = later.Add(loadLease) {
		n, err := l.deliver(ctx, later, r)
		if err != nil {
			t.Fatalf("deliveries: %v", err)
		}
		if n == 0 {
			return
		}
	}
}

// check checks that everything is there once: events, delivered deliveries, charges, and
// the balance that follows from them.
func (l *load) check(t testing.TB) {
	t.Helper()
	posts := map[string]bool{}
	for _, p := range l.polls {
		for _, tweet := range p.tweets {
			posts[tweet] = true
		}
	}
	evs := allEvents(t, l.s, l.owner)
	for i, ev := range evs {
		if ev.Seq != uint64(i+1) {
			t.Fatalf("event %d has number %d", i+1, ev.Seq)
		}
		if !posts[ev.TweetID] {
			t.Errorf("post %s is there twice, or was never found", ev.TweetID)
		}
		delete(posts, ev.TweetID)
	}
	for tweet := range posts {
		t.Errorf("post %s is missing", tweet)
	}

	byEvent := map[string]bool{}
	for _, d := range allDeliveries(t, l.s, l.owner) {
		if byEvent[d.Event.ID] {
			t.Errorf("event %s has two deliveries", d.Event.ID)
		}
		byEvent[d.Event.ID] = true
		if d.State != deliver.StateDelivered || d.Attempts != len(d.Log) || d.Attempts == 0 {
			t.Errorf("delivery %s is %s after %d attempts, %d in the log", d.ID, d.State, d.Attempts, len(d.Log))
		}
		for i, a := range d.Log {
			if a.N != i+1 {
				t.Errorf("attempt %d of %s has number %d", i+1, d.ID, a.N)
			}
		}
	}
	if len(byEvent) != len(evs) {
		t.Errorf("%d events and %d deliveries", len(evs), len(byEvent))
	}

	want := map[string]billing.Credits{"top-up of " + l.owner: loadPaid}
	sum := loadPaid
	for _, ev := range evs {
		want["charge for "+ev.TweetID] = -1
		sum--
	}
	for _, id := range l.requests {
		if !fails(id) {
			want[id] = -requestCost
			sum -= requestCost
		}
	}
	for _, e := range allEntries(t, l.s, l.owner) {
		if amount, ok := want[e.ID]; !ok || amount != e.Amount {
			t.Errorf("entry %q of %d is doubled, or wrong: want %d", e.ID, e.Amount, amount)
		}
		delete(want, e.ID)
	}
	for id := range want {
		t.Errorf("entry %q is missing", id)
	}
	if b := balanceIn(t, l.s, l.owner); b.Available != sum || b.Reserved != 0 {
		t.Errorf("the balance is %+v, want %d and nothing reserved", b, sum)
	}
}
