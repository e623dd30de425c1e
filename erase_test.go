package streamwatch_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// rowsOf returns all rows of a SQLite file, as text.
func rowsOf(t *testing.T, path string) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all strings.Builder
	for _, table := range read(t, db, "SELECT name FROM sqlite_schema WHERE type = 'table'") {
		for _, row := range read(t, db, "SELECT * FROM "+table[0].String) {
			fmt.Fprintln(&all, row)
		}
	}
	return all.String()
}

// read returns the rows that a query selects, with each column as text.
func read(t *testing.T, db *sql.DB, query string) (list [][]sql.NullString) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	for rows.Next() {
		row, to := make([]sql.NullString, len(columns)), make([]any, len(columns))
		for i := range row {
			to[i] = &row[i]
		}
		if err := rows.Scan(to...); err != nil {
			t.Fatal(err)
		}
		list = append(list, row)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// After Erase no row has anything of the owner, and another owner, who watches one of its
// accounts, misses nothing.
func TestEraseLeavesNoRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "streams.db")
		store, err := sqlite.Open(t.Context(), path, sqlite.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer store.Close(context.Background())
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"sharedaccount", "hiddenaccount", "wantedaccount"}})
		var in inbox
		refuse := roundTripFunc(func(r *http.Request) (*http.Response, error) { // deliveries stay open
			return &http.Response{StatusCode: 503, Header: http.Header{}, Body: http.NoBody}, nil
		})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle, Webhook: webhook.Config{Transport: refuse}})
		keys, err := apikey.NewManager(apikey.Config{Records: store.Ports().Records})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := keys.Issue(t.Context(), apikey.IssueRequest{Owner: "gone-customer", Name: "key-of-the-customer"}); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Owner: "gone-customer", Name: "their-monitor", Usernames: []string{"sharedaccount", "hiddenaccount"}, PollInterval: time.Second,
			WebhookURL: "https://hooks.example.com/their-hook", WebhookSecret: "their-secret-of-some-length"})
		if _, err := e.Rules().Create(t.Context(), rule.CreateRequest{Owner: "gone-customer", Tag: "their-rule", Query: "words-of-their-query", Interval: time.Second}); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Owner: "stays", Name: "ours", Usernames: []string{"sharedaccount", "wantedaccount"}, PollInterval: time.Second})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(3 * time.Second)
		p.Post("hiddenaccount", "text-that-is-to-be-forgotten")
		p.Post("sharedaccount", "text-for-both")
		pass(3 * time.Second)

		words := []string{"gone-customer", "key-of-the-customer", "their-monitor", "hiddenaccount", "their-hook", "their-secret", "their-rule", "words-of-their-query", "text-that-is-to-be-forgotten"}
		before := rowsOf(t, path)
		for _, w := range words {
			if !strings.Contains(before, w) {
				t.Errorf("%q is in no row before Erase: the test shows nothing", w)
			}
		}
		r, err := e.Erase(t.Context(), "gone-customer")
		if err != nil {
			t.Fatal(err)
		}
		after := rowsOf(t, path)
		for _, w := range words {
			if strings.Contains(after, w) {
				t.Errorf("%q is in a row after Erase", w)
			}
		}
		if !strings.Contains(after, "wantedaccount") || !strings.Contains(after, "text-for-both") {
			t.Error("what another owner has is in no row any more")
		}
		got := r
		got.Attempts = 0
		want := storage.Erased{Monitors: 1, Rules: 1, Endpoints: 1, Keys: 1, Events: 2, Deliveries: 4, Cursors: 2, Changes: 4}
		if got != want || r.Attempts == 0 {
			t.Errorf("report %+v, want %+v, and attempts", r, want)
		}

		p.Post("hiddenaccount", "nobody watches it")
		last := p.Post("sharedaccount", "after it").ID
		pass(3 * time.Second)
		if ids := in.ids(); len(ids) != 4 || ids[3] != last {
			t.Errorf("OnEvent got %v, want three posts from before and then %s alone", ids, last)
		}
		if n := e.Stats().Detect.Targets; n != 2 {
			t.Errorf("%d accounts are polled after Erase, want 2", n)
		}
		again, err := e.Erase(t.Context(), "gone-customer")
		if err != nil || again != (storage.Erased{}) {
			t.Errorf("a second Erase: %+v, %v, want that there is nothing", again, err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// heldEraser is a store whose Sweep waits, or fails as when the process ends.
type heldEraser struct {
	*memory.Store
	reached, goOn chan struct{}
	fail          error
}

func (h *heldEraser) Ports() storage.Ports {
	p := h.Store.Ports()
	p.Sweeper = h
	return p
}

func (h *heldEraser) Sweep(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	if h.reached != nil {
		close(h.reached)
		<-h.goOn
		h.reached = nil
	}
	if err := h.fail; err != nil {
		h.fail = nil
		return storage.Erased{}, err
	}
	return h.Store.Sweep(ctx, owner, targets...)
}

// While an owner is erased and for an hour after it, nothing is made for it. Then the name is free,
// and its numbers go on, so a WebSocket client of before misses nothing.
func TestEraseRefusesCreationsMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &heldEraser{Store: memory.New(memory.Options{}), reached: make(chan struct{}), goOn: make(chan struct{})}
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		var in inbox
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle})
		stop := startEngine(t, e)
		defer stop()
		watch := monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second}
		create(t, e, watch)
		pass(2 * time.Second)
		p.Post("nasa", "one")
		pass(2 * time.Second)

		reached := store.reached
		done := make(chan error, 1)
		go func() {
			_, err := e.Erase(t.Context(), "acme")
			done <- err
		}()
		<-reached
		other := watch
		other.Name = "other"
		if _, err := e.Monitors().Create(t.Context(), other); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("a creation during Erase: %v, want ErrErasing", err)
		}
		other.Owner = "globex"
		create(t, e, other)
		close(store.goOn)
		if err := <-done; err != nil {
			t.Fatal(err)
		}

		if _, err := e.Monitors().Create(t.Context(), watch); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("a creation after Erase: %v, want ErrErasing", err)
		}
		pass(time.Hour)
		create(t, e, watch)
		pass(2 * time.Second)
		p.Post("nasa", "two")
		pass(2 * time.Second)
		evs, err := e.Log().Events(t.Context(), "acme", 1, 10) // as a client with since=1
		if err != nil || len(evs) != 1 || evs[0].Seq != 2 {
			t.Errorf("%d events after number 1, %v, want the new one, as number 2", len(evs), err)
		}
	})
}

// An Erase that was cut short is made again and removes the rest, cursors included.
func TestEraseGoesOnAfterAFailure(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cut := errors.New("cut short")
		store := &heldEraser{Store: memory.New(memory.Options{}), fail: cut}
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store})
		stop := startEngine(t, e)
		defer stop()
		create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa", "esa"}, PollInterval: time.Second})
		create(t, e, monitor.CreateRequest{Owner: "globex", Name: "m", Usernames: []string{"esa"}, PollInterval: time.Second})
		pass(3 * time.Second)
		if _, err := e.Erase(t.Context(), "acme"); !errors.Is(err, cut) {
			t.Fatalf("error = %v, want that of the store", err)
		}
		r, err := e.Erase(t.Context(), "acme")
		if err != nil || r.Monitors != 1 || r.Cursors != 1 {
			t.Errorf("the second Erase: %+v, %v, want one monitor, and the cursor that nobody else needs", r, err)
		}
	})
}

func TestEraseNeedsASweeper(t *testing.T) {
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: noSweeper{memory.New(memory.Options{})}})
	if _, err := e.Erase(t.Context(), "acme"); !errors.Is(err, streamwatch.ErrNoSweeper) {
		t.Errorf("error = %v, want ErrNoSweeper", err)
	}
}

type noSweeper struct{ storage.Store }

func (s noSweeper) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Sweeper = nil
	return p
}
