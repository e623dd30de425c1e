package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/internal/delivertest"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// bench is a dispatcher on a memory store with a scripted sender.
type bench struct {
	t     *testing.T
	store *memory.Store
	d     *dispatch.Dispatcher
	done  chan error
	cut   context.CancelFunc

	mu       sync.Mutex
	sent     []sent
	underWay map[string]int // by endpoint
	most     map[string]int
	answer   func(ctx context.Context, d *deliver.Delivery) deliver.Result
}

type sent struct {
	id, endpoint, tweet string
	attempt             int
	at                  time.Time
	body                string
}

func (b *bench) Send(ctx context.Context, d *deliver.Delivery) deliver.Result {
	b.mu.Lock()
	b.sent = append(b.sent, sent{d.ID, d.EndpointID, d.Event.TweetID, d.Attempts + 1, time.Now(), string(d.Event.Body)})
	b.underWay[d.EndpointID]++
	b.most[d.EndpointID] = max(b.most[d.EndpointID], b.underWay[d.EndpointID])
	answer := b.answer
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.underWay[d.EndpointID]--
		b.mu.Unlock()
	}()
	if answer == nil {
		return deliver.Result{OK: true, StatusCode: 200}
	}
	return answer(ctx, d)
}

func (b *bench) all() []sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent)
}

func newBench(t *testing.T, answer func(context.Context, *deliver.Delivery) deliver.Result, tune func(*dispatch.Config)) *bench {
	t.Helper()
	return newBenchOn(t, memory.New(memory.Options{}), answer, tune)
}

// newBenchOn is a bench on the store of another one.
func newBenchOn(t *testing.T, store *memory.Store, answer func(context.Context, *deliver.Delivery) deliver.Result, tune func(*dispatch.Config)) *bench {
	t.Helper()
	b := &bench{t: t, store: store, answer: answer, underWay: map[string]int{}, most: map[string]int{}}
	cfg := dispatch.Config{Outbox: b.store.Ports().Outbox, Endpoints: endpoints.NewStore(b.store.Ports().Records, nil), Replays: b.store.Ports().Replays,
		Senders: map[string]deliver.Sender{"https": b}}
	if tune != nil {
		tune(&cfg)
	}
	var err error
	if b.d, err = dispatch.New(cfg); err != nil {
		t.Fatal(err)
	}
	return b
}

func (b *bench) run() {
	b.done, b.cut = delivertest.Run(b.t, b.d.Run)
	synctest.Wait()
}

func (b *bench) stop() {
	b.t.Helper()
	b.d.Stop()
	if err := <-b.done; err != nil {
		b.t.Errorf("Run: %v", err)
	}
	b.cut()
}

func src(id string) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: id, Owner: "o", Name: id}
}

// manager returns a manager of the endpoints.
func (b *bench) manager() *endpoints.Manager {
	b.t.Helper()
	m, err := endpoints.New(endpoints.Config{Store: endpoints.NewStore(b.store.Ports().Records, nil), Dispatcher: b.d, Log: b.store.Ports().Log})
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// stored shows the endpoints as another process reads and writes them.
func (b *bench) stored() roles.EndpointStore { return roles.Endpoints(b.store.Ports().Records) }

// endpoint binds an endpoint to the source of the same name.
func (b *bench) endpoint(id string) {
	b.t.Helper()
	err := b.stored().Create(b.t.Context(), deliver.Endpoint{ID: id, Source: src(id), URL: "https://" + id + ".example.com/",
		Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive, CreatedAt: time.Now()})
	if err != nil {
		b.t.Fatal(err)
	}
}

// commit stores n events of a source and hands them over if wanted.
func (b *bench) commit(source, prefix string, n int, handOver bool) []deliver.Delivery {
	b.t.Helper()
	batch := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second)}
	ds := committed(b.t, b.store, batch, source, prefix, n)
	if handOver {
		b.d.Enqueue(ds)
	}
	return ds
}

// committed stores a batch with n events of a source.
func committed(t *testing.T, store *memory.Store, batch *detect.Batch, source, prefix string, n int, handlers ...string) []deliver.Delivery {
	t.Helper()
	for i := range n {
		tweet := fmt.Sprintf("%s%d", prefix, i)
		batch.Events = append(batch.Events, deliver.Event{ID: deliver.EventID(source, tweet), Source: src(source), TweetID: tweet,
			Body: []byte(`{"tweet_id":"` + tweet + `"}`), PublishedAt: time.Now(), DetectedAt: time.Now(), Handlers: handlers})
	}
	if err := store.Ports().Journal.Commit(t.Context(), []*detect.Batch{batch}); err != nil {
		t.Fatal(err)
	}
	return batch.Deliveries
}

func logged(t *testing.T, store *memory.Store) []deliver.LogEntry {
	t.Helper()
	p, err := store.Ports().Log.Deliveries(t.Context(), deliver.LogQuery{Owner: "o", Asc: true, PageSize: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	return p.Entries
}

func (b *bench) log() []deliver.LogEntry { return logged(b.t, b.store) }

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// change changes a stored endpoint as another process does.
func (b *bench) change(id string, change func(*deliver.Endpoint)) {
	b.t.Helper()
	e, err := b.stored().Get(b.t.Context(), "o", id)
	if err != nil {
		b.t.Fatal(err)
	}
	change(&e)
	if err := b.stored().Update(b.t.Context(), e); err != nil {
		b.t.Fatal(err)
	}
}

// replayOf is a replay of the first events to the endpoint of the same name.
func replayOf(id string, last uint64) deliver.Replay {
	now := time.Now()
	return deliver.Replay{ID: id, Owner: "o", EndpointID: id, SourceID: id, Last: last, State: deliver.ReplayRunning, Due: now, CreatedAt: now, UpdatedAt: now}
}

// replay starts a replay to endpoint a.
func (b *bench) replay(last uint64) {
	b.t.Helper()
	if err := b.d.StartReplay(b.t.Context(), replayOf("a", last)); err != nil {
		b.t.Fatal(err)
	}
}
