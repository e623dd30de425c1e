package detect

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
)

// world is a small platform, a small journal and a small state, for tests in virtual time.
type world struct {
	mu       sync.Mutex
	posts    map[string][]post // by account, in order of publication
	pageSize int
	calls    []call
	underWay map[string]int
	most     int  // calls under way at once, ever
	twice    bool // an account was polled twice at a time
	// before may answer a call itself; nil means the timeline.
	before func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error)
	slow   time.Duration // every call takes this long
	dated  bool          // answers have the upstream's time

	events    map[string]deliver.Event
	order     []deliver.Event
	cursors   map[string]Cursor
	commits   int
	commitErr func(bs []*Batch) error
	slowStore time.Duration
	slowReads time.Duration // of cursors
	handed    []deliver.Delivery

	values    map[record.Name]record.Value
	version   uint64
	slowState time.Duration // its answers are of so long ago
	stateErr  error
}

type post struct {
	tweet   fetcher.Tweet
	visible time.Time
}

type call struct {
	account, cursor string
	at              time.Time
}

// newWorld must be called in a bubble. It steps off the whole second at which
// virtual time begins: a stamp without a fraction stands for its second.
func newWorld() *world {
	<-time.After(1234567 * time.Nanosecond)
	return &world{posts: map[string][]post{}, pageSize: 20, underWay: map[string]int{},
		events: map[string]deliver.Event{}, cursors: map[string]Cursor{}, values: map[record.Name]record.Value{}}
}

func (w *world) do(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

func (w *world) setSlow(d time.Duration)      { w.do(func() { w.slow = d }) }
func (w *world) setSlowStore(d time.Duration) { w.do(func() { w.slowStore = d }) }
func (w *world) setSlowReads(d time.Duration) { w.do(func() { w.slowReads = d }) }
func (w *world) setPageSize(n int)            { w.do(func() { w.pageSize = n }) }
func (w *world) setBefore(f func(fetcher.TimelineQuery, int) (*fetcher.Page, error)) {
	w.do(func() { w.before = f })
}
func (w *world) setCommitErr(f func([]*Batch) error) { w.do(func() { w.commitErr = f }) }

// publish adds a post that becomes visible late.
func (w *world) publish(account, id string, late time.Duration) {
	w.publishText(account, id, "post "+id, late)
}

func (w *world) publishText(account, id, text string, late time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	w.posts[account] = append(w.posts[account], post{visible: now.Add(late), tweet: fetcher.Tweet{
		ID: id, Text: text, Username: account, UserID: "id-" + account, PublishedAt: now}})
}

func (w *world) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	w.mu.Lock()
	w.calls = append(w.calls, call{q.Username, q.Cursor, time.Now()})
	n := len(w.calls)
	key := strings.ToLower(q.Username)
	w.underWay[key]++
	w.twice = w.twice || w.underWay[key] > 1
	total := 0
	for _, u := range w.underWay {
		total += u
	}
	w.most = max(w.most, total)
	before, slow := w.before, w.slow
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		w.underWay[key]--
		w.mu.Unlock()
	}()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
			return fetcher.Page{}, ctx.Err()
		}
	}
	if before != nil {
		if pg, err := before(q, n); pg != nil || err != nil {
			if pg == nil {
				pg = &fetcher.Page{}
			}
			return *pg, err
		}
	}
	return w.timeline(q), nil
}

func (w *world) timeline(q fetcher.TimelineQuery) fetcher.Page {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, past := time.Now(), q.Cursor == ""
	var shown []*fetcher.Tweet // newest first, after the cursor, and no more than tell that there is a next page
	for account, posts := range w.posts {
		if !strings.EqualFold(account, q.Username) {
			continue
		}
		for i := len(posts) - 1; i >= 0 && len(shown) <= w.pageSize; i-- {
			switch p := &posts[i]; {
			case p.visible.After(now):
			case past:
				shown = append(shown, &p.tweet)
			default:
				past = p.tweet.ID == q.Cursor
			}
		}
	}
	pg := fetcher.Page{UserID: "id-" + strings.ToLower(q.Username)}
	if len(shown) > w.pageSize {
		shown = shown[:w.pageSize]
		pg.Next = shown[len(shown)-1].ID
	}
	var reach fetcher.Reach
	for _, t := range shown {
		reach.Add(t.PublishedAt)
		if q.Seen != nil && q.Seen(t.ID) {
			pg.Skipped++
			continue
		}
		pg.Tweets = append(pg.Tweets, *t)
	}
	pg.OldestAt = reach.Time()
	if w.dated {
		pg.ServerTime = time.Now()
	}
	return pg
}

func (w *world) Commit(ctx context.Context, bs []*Batch) error {
	w.mu.Lock()
	slow := w.slowStore
	w.mu.Unlock()
	if slow > 0 {
		select {
		case <-time.After(slow):
		case <-ctx.Done():
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if w.commitErr != nil {
		if err := w.commitErr(bs); err != nil {
			return err
		}
	}
	w.commits++
	for _, b := range bs {
		if b.Cursor != nil {
			w.cursors[b.Cursor.Target] = *b.Cursor
		}
		for i := range b.Events {
			ev := &b.Events[i]
			if _, known := w.events[ev.ID]; known {
				continue
			}
			ev.Seq = uint64(len(w.order) + 1)
			w.events[ev.ID] = *ev
			w.order = append(w.order, *ev)
			b.Deliveries = append(b.Deliveries, deliver.Delivery{ID: deliver.DeliveryID(ev.ID, "x"), Event: ev, Due: b.DeliverBy})
		}
	}
	return nil
}

func (w *world) Cursors(ctx context.Context, targets ...string) ([]Cursor, error) {
	w.mu.Lock()
	slow := w.slowReads
	w.mu.Unlock()
	if slow > 0 {
		<-time.After(slow)
	}
	if left, ok := ctx.Value(readsLeft{}).(*atomic.Int64); ok && left.Add(-1) == 0 {
		return nil, errUnread
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Cursor
	for _, t := range targets {
		if c, ok := w.cursors[t]; ok {
			out = append(out, c)
		}
	}
	return out, nil
}

func (w *world) Get(ctx context.Context, n record.Name) (record.Value, error) {
	w.mu.Lock()
	v, ok := w.values[n]
	slow, err := w.slowState, w.stateErr
	w.mu.Unlock()
	select {
	case <-time.After(slow):
	case <-ctx.Done():
		err = ctx.Err()
	}
	if !ok && err == nil {
		err = record.ErrNotFound
	}
	return v, err
}

func (w *world) Swap(ctx context.Context, n record.Name, version uint64, value []byte, _ time.Duration) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := errors.Join(w.stateErr, ctx.Err()); err != nil {
		return 0, err
	}
	if w.values[n].Version != version {
		return 0, record.ErrConflict
	}
	w.version++
	w.values[n] = record.Value{Data: value, Version: w.version}
	return w.version, nil
}

// got lists "source:post" of all events, in order.
func (w *world) got() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, e := range w.order {
		out = append(out, e.Source.ID+":"+e.TweetID)
	}
	return out
}

func (w *world) callTimes(account string) []time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []time.Time
	for _, c := range w.calls {
		if c.account == account && c.cursor == "" {
			out = append(out, c.at)
		}
	}
	return out
}

// settings are all that a detector is made from.
type settings struct {
	Config
	Deps
}

// detector makes a detector on the world; tune may be nil.
func (w *world) detector(t *testing.T, tune func(*settings)) *Detector {
	t.Helper()
	s := settings{Config{Shards: 2}, Deps{Fetcher: w, Journal: w, State: w,
		OnCommit: func(ds []deliver.Delivery) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.handed = append(w.handed, ds...)
		}}}
	if tune != nil {
		tune(&s)
	}
	d, err := New(s.Config, s.Deps)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.do(func() {
			if w.twice {
				t.Error("an account was polled twice at a time")
			}
		})
	})
	return d
}

// start runs d; the function it returns stops it softly and joins it.
func start(t *testing.T, d *Detector) (stop func()) {
	t.Helper()
	done := make(chan error, 1)
	go func() { done <- d.Run(context.Background()) }()
	synctest.Wait()
	return func() {
		d.Stop()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// sub is a monitor's subscription to accounts from now on, every 10 s.
func sub(source string, accounts ...string) Subscription {
	s := Subscription{Source: deliver.Source{Kind: deliver.SourceMonitor, ID: source, Owner: "o", Name: source}, Interval: 10 * time.Second}
	for _, a := range accounts {
		s.Accounts = append(s.Accounts, monitor.Account{Username: a, Since: time.Now()})
	}
	return s
}

func set(t *testing.T, d *Detector, s Subscription) {
	t.Helper()
	if err := d.Set(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func after(d time.Duration) {
	<-time.After(d) // virtual: only called in a synctest bubble
	synctest.Wait()
}

// afterPoll waits for an account's next poll.
func (w *world) afterPoll(account string) {
	for n := len(w.callTimes(account)); len(w.callTimes(account)) == n; {
		after(10 * time.Millisecond)
	}
}

func wantEvents(t *testing.T, w *world, want ...string) {
	t.Helper()
	if got := w.got(); !slices.Equal(got, want) {
		t.Errorf("events = %v\nwant     %v", got, want)
	}
}

func ids(source, prefix string, from, to int) []string {
	var out []string
	for i := from; i < to; i++ {
		out = append(out, fmt.Sprintf("%s:%s%d", source, prefix, i))
	}
	return out
}
