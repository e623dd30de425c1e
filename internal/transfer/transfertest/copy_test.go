package transfertest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/pgtest"
	"github.com/streamwatch/streamwatch/internal/transfer"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/postgres"
	"github.com/streamwatch/streamwatch/storage/redisstore"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// place is where a store is.
type place struct {
	name    string
	open    func(ctx context.Context) (storage.Store, error)
	forCopy func(ctx context.Context, use transfer.Use) (transfer.Store, error)
}

const retention = time.Hour

func file(t testing.TB, c *clock) place {
	path := filepath.Join(t.TempDir(), "streams.db")
	opts := sqlite.Options{Now: c.Now, Retention: retention, EntryRetention: retention, IDRetention: 1000 * time.Hour}
	return place{"SQLite",
		func(ctx context.Context) (storage.Store, error) { return sqlite.Open(ctx, path, opts) },
		func(ctx context.Context, use transfer.Use) (transfer.Store, error) {
			return sqlite.OpenForCopy(ctx, path, opts, use)
		}}
}

func redisAt(addr, name string, c *clock) place {
	to := &redis.UniversalOptions{Addrs: []string{addr}}
	opts := redisstore.Options{Name: name, Now: c.Now, Retention: retention, EntryRetention: retention, IDRetention: 1000 * time.Hour, AllowEviction: true}
	return place{"Redis",
		func(ctx context.Context) (storage.Store, error) { return redisstore.Open(ctx, to, opts) },
		func(ctx context.Context, use transfer.Use) (transfer.Store, error) {
			return redisstore.OpenForCopy(ctx, to, opts, use)
		}}
}

func onRedis(t testing.TB, c *clock) place { return redisAt(miniredis.RunT(t).Addr(), "streams", c) }

func onPostgres(t testing.TB, c *clock) place {
	url := pgtest.Single(t, "fsync off").NewDatabase(t)
	opts := postgres.Options{Now: c.Now, Retention: retention, EntryRetention: retention, IDRetention: 1000 * time.Hour}
	return place{"PostgreSQL",
		func(ctx context.Context) (storage.Store, error) { return postgres.Open(ctx, url, opts) },
		func(ctx context.Context, use transfer.Use) (transfer.Store, error) {
			return postgres.OpenForCopy(ctx, url, opts, use)
		}}
}

// with opens a store for a function.
func (p place) with(t testing.TB, do func(storage.Store)) {
	t.Helper()
	s, err := p.open(t.Context())
	must(t, err)
	defer func() { must(t, s.Close(context.Background())) }()
	do(s)
}

// copyTo copies a store. change may change both sides first.
func (p place) copyTo(t testing.TB, to place, change func(to, from transfer.Store) (transfer.Store, transfer.Store)) ([]transfer.Line, error) {
	t.Helper()
	source, err := p.forCopy(t.Context(), transfer.Source)
	if err != nil {
		return nil, err
	}
	defer source.Close(context.Background())
	target, err := to.forCopy(t.Context(), transfer.Target)
	if err != nil {
		return nil, err
	}
	defer target.Close(context.Background())
	if change != nil {
		target, source = change(target, source)
	}
	return transfer.Copy(t.Context(), target, source, func(transfer.Part, int) {})
}

// roundTrip copies a filled store from place to place, and compares them at each step.
func roundTrip(t *testing.T, c *clock, places ...place) {
	var want map[string]string
	places[0].with(t, func(s storage.Store) {
		fill(t, s, c)
		want = view(t, s)
	})
	for i, to := range places[1:] {
		from := places[i]
		what := from.name + " to " + to.name
		lines, err := from.copyTo(t, to, nil)
		for _, l := range lines {
			if l.From.Rows == 0 && l.What != "reserved credits" || !l.Equal() {
				t.Errorf("%s: %s: %+v, want something, and the same", what, l.What, l)
			}
		}
		must(t, err)
		to.with(t, func(s storage.Store) { same(t, what, view(t, s), want) })
	}
	// The first and the last go on alike, after all that lay between.
	now := c.now
	var seen [2][]string
	for i, p := range []place{places[0], places[len(places)-1]} {
		c.now = now
		p.with(t, func(s storage.Store) { seen[i] = goOn(t, s, c) })
	}
	for i, want := range seen[0] {
		if got := seen[1][i]; got != want {
			t.Errorf("%s goes on with %q, want %q", places[len(places)-1].name, got, want)
		}
	}
}

func TestRoundTrip(t *testing.T) {
	for _, test := range []struct {
		name   string
		places func(t *testing.T, c *clock) []place
	}{
		{"SQLite, Redis", func(t *testing.T, c *clock) []place { return []place{file(t, c), onRedis(t, c)} }},
		{"SQLite, Redis, SQLite", func(t *testing.T, c *clock) []place { return []place{file(t, c), onRedis(t, c), file(t, c)} }},
		{"Redis, SQLite", func(t *testing.T, c *clock) []place { return []place{onRedis(t, c), file(t, c)} }},
		{"Redis, Redis", func(t *testing.T, c *clock) []place { return []place{onRedis(t, c), onRedis(t, c)} }},
		{"SQLite, SQLite", func(t *testing.T, c *clock) []place { return []place{file(t, c), file(t, c)} }},
		{"SQLite, PostgreSQL", func(t *testing.T, c *clock) []place { return []place{file(t, c), onPostgres(t, c)} }},
		{"SQLite, PostgreSQL, Redis, SQLite", func(t *testing.T, c *clock) []place {
			return []place{file(t, c), onPostgres(t, c), onRedis(t, c), file(t, c)}
		}},
		{"PostgreSQL, SQLite", func(t *testing.T, c *clock) []place { return []place{onPostgres(t, c), file(t, c)} }},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := &clock{start}
			roundTrip(t, c, test.places(t, c)...)
		})
	}
}

// cutStore is a target whose Write fails after some pages, the last one written or not.
type cutStore struct {
	transfer.Store
	left    int
	written bool
}

var errCut = errors.New("cut")

func (s *cutStore) Write(ctx context.Context, part transfer.Part, rows []any, next transfer.Place) error {
	s.left--
	if s.left > 0 || s.written {
		if err := s.Store.Write(ctx, part, rows, next); err != nil || s.left > 0 {
			return err
		}
	}
	return errCut
}

func (s *cutStore) Finish(ctx context.Context) error {
	if s.left > 0 {
		return errCut
	}
	return s.Store.Finish(ctx)
}

// A copy that was cut goes on, wherever that was, and no store opens it until then.
func TestCutCopyGoesOn(t *testing.T) {
	for _, test := range []struct {
		name string
		to   func(testing.TB, *clock) place
	}{{"SQLite", file}, {"Redis", onRedis}, {"PostgreSQL", onPostgres}} {
		t.Run(test.name, func(t *testing.T) {
			c := &clock{start}
			from, to := file(t, c), test.to(t, c)
			var want map[string]string
			from.with(t, func(s storage.Store) {
				fill(t, s, c)
				want = view(t, s)
			})
			for cuts := 0; ; cuts++ {
				_, err := from.copyTo(t, to, func(to, from transfer.Store) (transfer.Store, transfer.Store) {
					return &cutStore{to, 1 + cuts%3, cuts%2 == 0}, from
				})
				if err == nil || !errors.Is(err, errCut) || cuts > 100 {
					t.Fatalf("%v after %d cuts", err, cuts)
				}
				s, opened := to.open(t.Context())
				if opened == nil {
					s.Close(context.Background())
				}
				if opened == nil || !strings.Contains(opened.Error(), transfer.Unfinished) {
					t.Fatalf("opened half a copy: %v", opened)
				}
				if !strings.Contains(err.Error(), "not complete") { // all is there but the end
					break
				}
			}
			_, err := from.copyTo(t, to, nil)
			must(t, err)
			to.with(t, func(s storage.Store) { same(t, "a copy that was cut", view(t, s), want) })
		})
	}
}

func TestRefused(t *testing.T) {
	for _, test := range []struct {
		name string
		kind func(testing.TB, *clock) place
	}{{"SQLite", file}, {"Redis", onRedis}, {"PostgreSQL", onPostgres}} {
		t.Run(test.name, func(t *testing.T) {
			c := &clock{start}
			from, other := file(t, c), file(t, c)
			for _, p := range []place{from, other} {
				p.with(t, func(s storage.Store) { fill(t, s, c) })
			}
			refuse := func(what string, err, want error) {
				t.Helper()
				if !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", what, err, want)
				}
			}
			to := test.kind(t, c)
			_, err := to.copyTo(t, file(t, c), nil)
			refuse("a source that is not there", err, transfer.ErrMissing)
			_, err = from.copyTo(t, to, func(to, from transfer.Store) (transfer.Store, transfer.Store) { return &cutStore{to, 3, true}, from })
			refuse("the cut", err, errCut)
			_, err = other.copyTo(t, to, nil)
			refuse("half a copy of another", err, transfer.ErrOther)
			_, err = to.copyTo(t, file(t, c), nil)
			if err == nil || !strings.Contains(err.Error(), transfer.Unfinished) {
				t.Errorf("half a copy as a source: %v", err)
			}
			_, err = from.copyTo(t, to, nil)
			must(t, err)
			_, err = from.copyTo(t, to, nil)
			refuse("a whole copy", err, transfer.ErrNotEmpty)

			empty := test.kind(t, c)
			empty.with(t, func(storage.Store) {})
			_, err = from.copyTo(t, empty, nil)
			must(t, err) // what was opened and not used is empty

			one := test.kind(t, c)
			one.with(t, func(s storage.Store) {
				must(t, s.Ports().Journal.Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: "t"}}}))
			})
			_, err = from.copyTo(t, one, nil)
			refuse("a target with one row", err, transfer.ErrNotEmpty)
			one.with(t, func(s storage.Store) {
				if s.Ports().Members == nil { // SQLite has a lock instead
					ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
					defer cancel()
					_, err := one.forCopy(ctx, transfer.Source)
					refuse("a source in use", err, sqlite.ErrInUse)
					return
				}
				state, err := s.Ports().Members.Join(t.Context(), fleet.Node{Name: "n", Weight: 1, Lease: time.Minute})
				must(t, err)
				_, err = one.copyTo(t, file(t, c), nil)
				refuse("a source in use", err, transfer.ErrUsed)
				_, err = from.copyTo(t, one, nil)
				refuse("a target in use", err, transfer.ErrUsed)
				must(t, s.Ports().Members.Leave(t.Context(), state.Fence))
			})
		})
	}
}

// Of two commands that go on with the same copy, one ends with an error. SQLite has a lock.
func TestTwoCopies(t *testing.T) {
	for _, test := range []struct {
		name string
		to   func(testing.TB, *clock) place
	}{{"Redis", onRedis}, {"PostgreSQL", onPostgres}} {
		t.Run(test.name, func(t *testing.T) {
			to := test.to(t, &clock{start})
			page := []any{&transfer.Known{ID: "id", Recorded: start}}
			var both [2]transfer.Store
			for i := range both {
				var err error
				both[i], err = to.forCopy(t.Context(), transfer.Target)
				must(t, err)
				defer both[i].Close(context.Background())
				_, err = both[i].Begin(t.Context(), "source")
				must(t, err)
			}
			for i, want := range []error{nil, transfer.ErrMoved} {
				err := both[i].Write(t.Context(), transfer.RemovedEvents, page, transfer.Place{Part: transfer.RemovedEntries})
				if !errors.Is(err, want) {
					t.Errorf("%d: %v, want %v", i, err, want)
				}
			}
		})
	}
}

// The ids of deliveries stay those of the source, also when its numbers have another epoch.
func TestEpochs(t *testing.T) {
	c := &clock{start}
	server := miniredis.RunT(t)
	first := redisAt(server.Addr(), "first", c)
	first.with(t, func(s storage.Store) { fill(t, s, c) })
	server.HSet("{first}:count", "e", "77", "d", "5") // after a loss, of a copy of a backup
	places := []place{first, file(t, c), redisAt(server.Addr(), "second", c), file(t, c)}
	for i, p := range places {
		if i > 0 {
			_, err := places[i-1].copyTo(t, p, nil)
			must(t, err)
		}
	}
	for i, p := range places {
		p.with(t, func(s storage.Store) {
			epoch, err := s.Ports().Log.Epoch(t.Context())
			must(t, err)
			b := &detect.Batch{Events: []deliver.Event{event(nobodies, "e", "h")}}
			must(t, s.Ports().Journal.Commit(t.Context(), []*detect.Batch{b}))
			got := fmt.Sprint(epoch, b.Deliveries[0].ID)
			if want := "77" + deliver.DeliveryIDInEpoch(5, "event e", deliver.HandlerEndpoint("h")); got != want {
				t.Errorf("%d, %s: %s, want %s", i, p.name, got, want)
			}
		})
	}
	last := places[len(places)-1]
	last.with(t, func(s storage.Store) {
		backup := filepath.Join(t.TempDir(), "backup.db")
		must(t, s.(*sqlite.Store).Backup(t.Context(), backup))
		copied, err := sqlite.Open(t.Context(), backup, sqlite.Options{Now: c.Now})
		must(t, err)
		defer copied.Close(context.Background())
		b := &detect.Batch{Events: []deliver.Event{event(nobodies, "f", "h")}}
		must(t, copied.Ports().Journal.Commit(t.Context(), []*detect.Batch{b}))
		epoch, err := copied.Ports().Log.Epoch(t.Context())
		must(t, err)
		if b.Deliveries[0].ID != deliver.DeliveryIDInEpoch(epoch, "event f", deliver.HandlerEndpoint("h")) {
			t.Error("a backup of a copy has the ids of the copy")
		}
	})
}

// changed is a source that shows something else when it is read again.
type changed struct {
	transfer.Store
	part transfer.Part
	read int
}

func (s *changed) Read(ctx context.Context, from transfer.Place) ([]any, string, bool, error) {
	rows, next, last, err := s.Store.Read(ctx, from)
	if from.Part == s.part && len(rows) > 0 {
		if s.read++; s.read > 1 {
			rows = slices.Clone(rows)[1:]
		}
	}
	return rows, next, last, err
}

// What differs at the end is told, and the copy stays closed.
func TestCheck(t *testing.T) {
	c := &clock{start}
	from, to := file(t, c), file(t, c)
	from.with(t, func(s storage.Store) { fill(t, s, c) })
	lines, err := from.copyTo(t, to, func(to, from transfer.Store) (transfer.Store, transfer.Store) {
		return to, &changed{Store: from, part: transfer.Resolved}
	})
	if !errors.Is(err, transfer.ErrDiffer) {
		t.Fatalf("%v, want %v", err, transfer.ErrDiffer)
	}
	for _, l := range lines {
		if l.Equal() == (l.What == transfer.Resolved.String()) {
			t.Errorf("%s: %+v", l.What, l)
		}
	}
	if _, err := to.open(t.Context()); err == nil || !strings.Contains(err.Error(), transfer.Unfinished) {
		t.Errorf("opened a copy that differs: %v", err)
	}
}
