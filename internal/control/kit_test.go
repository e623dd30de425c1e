package control_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// item is the kind of records of these tests. Words are what it polls: "@" and a name each.
type item struct {
	ID, Owner, Name  string
	Words            string
	Since            time.Time
	URL, EndpointID  string
	SecretSet        bool
	Status           control.Status
	Reason           string
	Created, Updated time.Time
	Resumed          time.Time
	Version          int64
}

var (
	errNotFound  = errors.New("item: not found")
	errDuplicate = errors.New("item: duplicate")
	errConflict  = errors.New("item: conflict")
	errDown      = errors.New("it is down")
)

func (it item) record() (record.Record, error) {
	data := it
	data.Version, data.Name, data.Status, data.Owner, data.ID = 0, "", "", "", ""
	if it.Status == control.Active {
		data.Reason = ""
	}
	b, err := json.Marshal(data)
	return record.Record{Key: record.Key{Kind: record.Monitor, ID: it.ID}, Owner: it.Owner, Name: it.Name, Status: string(it.Status),
		Size: int64(len(strings.Fields(it.Words))), Version: it.Version, CreatedAt: it.Created, UpdatedAt: it.Updated, Data: b}, err
}

func itemOf(r record.Record) (it item, err error) {
	err = json.Unmarshal(r.Data, &it)
	it.ID, it.Owner, it.Name, it.Status, it.Version = r.ID, r.Owner, r.Name, control.Status(r.Status), r.Version
	if it.Status == control.Active {
		it.Reason = r.Note
	}
	return it, err
}

// desk is a manager, with a tracker and webhooks that note what they are told and fail on demand.
type desk struct {
	*control.Manager[item, string]
	store *spy
	log   heard.Output

	mu       sync.Mutex
	tracked  map[string]item
	how      control.Start    // of the last Track
	failing  map[string]error // what Track returns, by id
	stuck    error            // what Untrack returns
	readTo   time.Time        // what Advance sets, unless it is zero
	readErr  error
	made     int            // endpoints
	limits   deliver.Limits // of the last one
	applyErr error
}

// newDesk returns a desk over an empty store. change may be nil.
func newDesk(t *testing.T, change func(*desk, *control.Config[item, string])) *desk {
	t.Helper()
	d := &desk{store: newSpy(), tracked: map[string]item{}, failing: map[string]error{}}
	cfg := control.Config[item, string]{Kind: d.kind(), Records: d.store, Tracker: d, Webhooks: d, Price: func(it item) int64 { return 7 * int64(len(it.Name)) },
		Logger: slog.New(slog.NewTextHandler(&d.log, nil)), Now: func() time.Time { return time.Now().Round(0) }}
	if change != nil {
		change(d, &cfg)
	}
	d.Manager = control.New(cfg)
	return d
}

func (d *desk) kind() control.Kind[item, string] {
	return control.Kind[item, string]{Kind: record.Monitor, Prefix: "it_", ErrNotFound: errNotFound, ErrDuplicate: errDuplicate, ErrConflict: errConflict,
		Encode: item.record, Decode: itemOf,
		Head: func(it *item) control.Head {
			return control.Head{ID: &it.ID, Owner: &it.Owner, WebhookURL: &it.URL, WebhookID: &it.EndpointID, WebhookSecretSet: &it.SecretSet,
				Status: &it.Status, StatusReason: &it.Reason, CreatedAt: &it.Created, UpdatedAt: &it.Updated, ResumedAt: &it.Resumed, Version: &it.Version}
		},
		Check: func(it *item) (string, error) {
			if it.Name == "" {
				return "", invalid.Field("item", "name", "", "a name")
			}
			return "", nil
		},
		Parse: func(it *item) (string, error) {
			if it.Words == "(" {
				return "", errors.New("cannot parse")
			}
			return "parsed " + it.Words, nil
		},
		Restart: func(it *item, now time.Time) { it.Since = now },
		Advance: func(_ context.Context, it *item) error {
			if !d.readTo.IsZero() {
				it.Since = d.readTo
			}
			return d.readErr
		},
		Affects: func(it *item, what string) bool { return slices.Contains(strings.Fields(it.Words), what) },
	}
}

func (d *desk) Track(_ context.Context, it item, parsed string, how control.Start) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.failing[it.ID]; err != nil {
		return err
	}
	if parsed != "parsed "+it.Words {
		return fmt.Errorf("parsed %q of %q", parsed, it.Words)
	}
	d.tracked[it.ID], d.how = it, how
	return nil
}

func (d *desk) Untrack(_ context.Context, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.stuck != nil {
		return d.stuck
	}
	delete(d.tracked, id)
	return nil
}

// Check implements control.Webhooks, as do New, Change, Has and Error.
func (d *desk) Check(url string, key secret.Value) error {
	if !strings.HasPrefix(url, "https://") {
		return invalid.Field("item", "webhook_url", url, "https")
	}
	if key == "short" {
		return invalid.Field("item", "webhook_secret", secret.Redacted, "a longer one")
	}
	return nil
}

func (d *desk) New(_ context.Context, source record.Record, url string, w control.Webhook) (ep record.Record, generated secret.Value, err error) {
	key := w.Secret
	d.made++
	if d.limits = w.Limits; key == "" {
		key, generated = "generated", "generated"
	}
	return record.Record{Key: record.Key{Kind: record.Endpoint, ID: fmt.Sprint("ep_", d.made)}, Owner: source.Owner, Parent: source.Key, Name: url,
		Status: "active", Data: []byte(key)}, generated, d.applyErr
}

func (d *desk) Change(_ context.Context, ep record.Record, url string, key secret.Value) (record.Record, error) {
	if ep.Name = url; key != "" {
		ep.Data = []byte(key)
	}
	return ep, d.applyErr
}

func (d *desk) Has(_ context.Context, ep record.Record, key secret.Value) (bool, error) {
	return string(ep.Data) == string(key), d.applyErr
}

func (d *desk) Error(err error) error { return fmt.Errorf("endpoint: %w", err) }

// create stores an item of acme with a webhook_url.
func (d *desk) create(t *testing.T, change func(*item)) item {
	t.Helper()
	it := item{Owner: "acme", Name: "a", Words: "@nasa @esa", URL: "https://h.example.com/"}
	if change != nil {
		change(&it)
	}
	it, _, err := d.Create(t.Context(), it, control.Webhook{})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

// state shows all that is stored and tracked.
func (d *desk) state(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	for _, kind := range []record.Kind{record.Monitor, record.Endpoint} {
		err := d.store.Store.Scan(t.Context(), kind, func(r record.Record) error {
			_, err := fmt.Fprintf(&b, "%s %q %s v%d %q %s\n", r.ID, r.Name, r.Status, r.Version, r.Note, r.Data)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String() + fmt.Sprint(slices.Sorted(maps.Keys(d.tracked)))
}

// stored returns the record of an item.
func (d *desk) stored(t *testing.T, id string) record.Record {
	t.Helper()
	r, err := d.store.Store.Get(t.Context(), "acme", record.Key{Kind: record.Monitor, ID: id})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// endpoints shows the endpoints of acme: id, url and secret.
func (d *desk) endpoints(t *testing.T) string {
	t.Helper()
	list, _, err := d.store.Store.List(t.Context(), record.Query{Owner: "acme", Kind: record.Endpoint, Limit: 100})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, ep := range list {
		all = append(all, fmt.Sprintf("%s %s %s", ep.ID, ep.Name, ep.Data))
	}
	return strings.Join(all, ", ")
}

// isTracked reports whether the tracker has an item.
func (d *desk) isTracked(id string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, ok := d.tracked[id]
	return ok
}

// spy is a store that counts changes and fails on demand.
type spy struct {
	record.Store
	mu      sync.Mutex
	changes []record.Change            // given to Apply, without those of notes alone
	notes   []record.Note              // of changes of notes alone
	before  func(*record.Change) error // called by Apply; its error is the answer
	after   func(error) error          // the answer of Apply for the store's
	since   func(after uint64) error   // called by Since; its error is the answer
	get     func(k record.Key) error   // called by Get; its error is the answer
}

func newSpy() *spy { return &spy{Store: memory.New(memory.Options{}).Ports().Records} }

func (s *spy) Apply(ctx context.Context, c record.Change) (uint64, error) {
	s.mu.Lock()
	before, after := s.before, s.after
	if len(c.Put)+len(c.Delete) == 0 && c.Gone == nil {
		s.notes = append(s.notes, c.Notes...)
	} else {
		s.changes = append(s.changes, c)
	}
	s.mu.Unlock()
	if before != nil {
		if err := before(&c); err != nil {
			return 0, err
		}
	}
	n, err := s.Store.Apply(ctx, c)
	if after != nil {
		return 0, after(err)
	}
	return n, err
}

func (s *spy) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	if s.get != nil {
		if err := s.get(k); err != nil {
			return record.Record{}, err
		}
	}
	return s.Store.Get(ctx, owner, k)
}

func (s *spy) Since(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error) {
	s.mu.Lock()
	since := s.since
	s.mu.Unlock()
	if since != nil {
		if err := since(after); err != nil {
			return nil, 0, err
		}
	}
	return s.Store.Since(ctx, after, limit)
}

// set changes the spy while others use it.
func (s *spy) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// put stores a record of acme as another process does.
func (s *spy) put(t *testing.T, k record.Key, version int64) {
	t.Helper()
	_, err := s.Store.Apply(t.Context(), record.Change{Put: []record.Record{{Key: k, Owner: "acme", Status: "active", Version: version, Data: []byte("{}")}}})
	if err != nil {
		t.Fatal(err)
	}
}

func monitorKey(id string) record.Key { return record.Key{Kind: record.Monitor, ID: id} }

// entry is an entry of the feed for a record of acme.
func entry(id string) record.Entry { return record.Entry{Key: monitorKey(id), Owner: "acme"} }

// pass lets time go by.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// goRun runs a function until stop is called.
func goRun(t *testing.T, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	}
}

// field returns the field that an error is about, "" for none.
func field(err error) string {
	var fe *invalid.FieldError
	if errors.As(err, &fe) {
		return fe.Wire
	}
	return ""
}

func ptr[T any](v T) *T { return &v }
