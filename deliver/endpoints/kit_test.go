package endpoints_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/deliver/internal/delivertest"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/roles"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/memory"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	secret = deliver.Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLASw")
	body   = `{"event":"tweet.detected"}`
	// Of body by secret.
	signature = "sha256=87332c9fe0d198b935feb7b6db9495b574e1cf9d13c89ba2da664914441e2ffd"
)

// bench is a dispatcher on a memory store with a scripted sender.
type bench struct {
	t     *testing.T
	store *memory.Store
	d     *dispatch.Dispatcher
	done  chan error
	cut   context.CancelFunc

	mu     sync.Mutex
	sent   []sent
	answer func(ctx context.Context, d *deliver.Delivery) deliver.Result
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
	b.mu.Unlock()
	if b.answer == nil {
		return deliver.Result{OK: true, StatusCode: 200}
	}
	return b.answer(ctx, d)
}

func (b *bench) all() []sent {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.sent)
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

// manager returns a manager of the endpoints.
func (b *bench) manager(tune func(*endpoints.Config)) *endpoints.Manager {
	b.t.Helper()
	cfg := endpoints.Config{Store: endpoints.NewStore(b.store.Ports().Records, nil), Dispatcher: b.d, Log: b.store.Ports().Log}
	if tune != nil {
		tune(&cfg)
	}
	m, err := endpoints.New(cfg)
	if err != nil {
		b.t.Fatal(err)
	}
	return m
}

// stored shows the endpoints as another process reads and writes them.
func (b *bench) stored() roles.EndpointStore { return roles.Endpoints(b.store.Ports().Records) }

// get returns a stored endpoint of owner o.
func (b *bench) get(id string) deliver.Endpoint {
	b.t.Helper()
	e, err := b.stored().Get(b.t.Context(), "o", id)
	if err != nil {
		b.t.Fatal(err)
	}
	return e
}

// source stores a monitor.
func (b *bench) source(owner, id string) {
	b.t.Helper()
	if _, err := b.store.Ports().Records.Apply(b.t.Context(), record.Change{Put: []record.Record{{Key: record.Key{Kind: record.Monitor, ID: id}, Owner: owner, Name: id}}}); err != nil {
		b.t.Fatal(err)
	}
}

// endpoint binds an endpoint to the source of the same name.
func (b *bench) endpoint(id string) {
	b.t.Helper()
	err := roles.Endpoints(b.store.Ports().Records).Create(b.t.Context(), deliver.Endpoint{ID: id, Source: src(id), URL: "https://" + id + ".example.com/",
		Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive, CreatedAt: time.Now()})
	if err != nil {
		b.t.Fatal(err)
	}
}

// commit stores n events of a source and hands them over if wanted.
func (b *bench) commit(source, prefix string, n int, handOver bool) {
	b.t.Helper()
	batch := &detect.Batch{DeliverBy: time.Now().Add(45 * time.Second)}
	for i := range n {
		tweet := fmt.Sprintf("%s%d", prefix, i)
		batch.Events = append(batch.Events, deliver.Event{ID: deliver.EventID(source, tweet), Source: src(source), TweetID: tweet,
			Body: []byte(`{"tweet_id":"` + tweet + `"}`), PublishedAt: time.Now(), DetectedAt: time.Now()})
	}
	if err := b.store.Ports().Journal.Commit(b.t.Context(), []*detect.Batch{batch}); err != nil {
		b.t.Fatal(err)
	}
	if handOver {
		b.d.Enqueue(batch.Deliveries)
	}
}

func (b *bench) log() []deliver.LogEntry {
	b.t.Helper()
	p, err := b.store.Ports().Log.Deliveries(b.t.Context(), deliver.LogQuery{Owner: "o", Asc: true, PageSize: 10_000})
	if err != nil {
		b.t.Fatal(err)
	}
	return p.Entries
}

// newBench returns a bench with the monitors a and b of owner o.
func newBench(t *testing.T, answer func(context.Context, *deliver.Delivery) deliver.Result, tune func(*dispatch.Config)) *bench {
	t.Helper()
	b := &bench{t: t, store: memory.New(memory.Options{}), answer: answer}
	cfg := dispatch.Config{Outbox: b.store.Ports().Outbox, Endpoints: endpoints.NewStore(b.store.Ports().Records, nil), Replays: b.store.Ports().Replays,
		Senders: map[string]deliver.Sender{"https": b}}
	if tune != nil {
		tune(&cfg)
	}
	var err error
	if b.d, err = dispatch.New(cfg); err != nil {
		t.Fatal(err)
	}
	b.source("o", "a")
	b.source("o", "b")
	return b
}

func src(id string) deliver.Source {
	return deliver.Source{Kind: deliver.SourceMonitor, ID: id, Owner: "o", Name: id}
}

func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func newSender(t testing.TB, cfg webhook.Config) *webhook.Sender {
	t.Helper()
	s, err := webhook.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func delivery(url string) *deliver.Delivery {
	return &deliver.Delivery{
		ID: "dlv_1", EndpointID: "whk_1", Event: &deliver.Event{ID: "evt_1", Body: []byte(body)},
		Endpoint: deliver.Endpoint{ID: "whk_1", URL: url, Secret: secret},
	}
}

// roundTrip is a transport made of a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// answer is a transport whose receiver answers with a status, headers as
// name and value, and a body.
func answer(status int, body string, headers ...string) roundTrip {
	return func(*http.Request) (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Add(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}
