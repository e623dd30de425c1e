package streamwatch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver/webhook"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/sqlite"
)

// fileBytes are all bytes of the files in a directory.
func fileBytes(t *testing.T, dir string) (all []byte) {
	t.Helper()
	files, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, b...)
	}
	return all
}

// An owner is erased while the engine runs: nothing of it is in the store's files, and
// another owner, of whom it shares an account, misses nothing.
func TestEraseLeavesNothingInTheFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		store, err := sqlite.Open(t.Context(), filepath.Join(dir, "streams.db"), sqlite.Options{})
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
		keys, err := apikey.NewManager(apikey.Config{Store: store.Keys()})
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
		before := fileBytes(t, dir)
		for _, w := range words {
			if !bytes.Contains(before, []byte(w)) {
				t.Errorf("%q is not in the files before Erase: the test shows nothing", w)
			}
		}
		r, err := e.Erase(t.Context(), "gone-customer", streamwatch.EraseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		after := fileBytes(t, dir)
		for _, w := range words {
			if bytes.Contains(after, []byte(w)) {
				t.Errorf("%q is in the files after Erase", w)
			}
		}
		if !bytes.Contains(after, []byte("wantedaccount")) || !bytes.Contains(after, []byte("text-for-both")) {
			t.Error("what another owner has is not in the files any more")
		}
		got := r.Erased
		got.Attempts = 0
		want := storage.Erased{Monitors: 1, Rules: 1, Endpoints: 1, Keys: 1, Events: 2, Deliveries: 4, Cursors: 2}
		if got != want || r.Attempts == 0 {
			t.Errorf("report %+v, want %+v, and attempts", r.Erased, want)
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
		again, err := e.Erase(t.Context(), "gone-customer", streamwatch.EraseOptions{})
		if err != nil || again.Erased != (storage.Erased{}) {
			t.Errorf("a second Erase: %+v, %v, want that there is nothing", again, err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// heldEraser is a store whose Erase waits, or fails as when the process ends.
type heldEraser struct {
	*memory.Store
	reached, goOn chan struct{}
	fail          error
}

func (h *heldEraser) Erase(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	if h.reached != nil {
		close(h.reached)
		<-h.goOn
		h.reached = nil
	}
	if err := h.fail; err != nil {
		h.fail = nil
		return storage.Erased{}, err
	}
	return h.Store.Erase(ctx, owner, targets...)
}

// While an owner is erased nothing is made for it; afterwards the name is free, and its
// numbers go on, so that a WebSocket client of before misses nothing.
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
		if err := store.Keys().Create(t.Context(), apikey.Key{ID: "k", Owner: "acme", Hash: strings.Repeat("5e", 32)}); err != nil {
			t.Fatal(err)
		}
		pass(2 * time.Second)
		p.Post("nasa", "one")
		pass(2 * time.Second)

		reached := store.reached
		done := make(chan error, 1)
		go func() {
			_, err := e.Erase(t.Context(), "acme", streamwatch.EraseOptions{})
			done <- err
		}()
		<-reached
		if left, err := store.Keys().List(t.Context(), "acme"); err != nil || len(left) != 0 {
			t.Errorf("%d keys of the owner, %v: want its requests ended first", len(left), err)
		}
		other := watch
		other.Name = "other"
		if _, err := e.Monitors().Create(t.Context(), other); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("a creation during Erase: %v, want ErrErasing", err)
		}
		if _, err := e.Erase(t.Context(), "acme", streamwatch.EraseOptions{}); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("a second Erase at once: %v, want ErrErasing", err)
		}
		other.Owner = "globex"
		create(t, e, other)
		close(store.goOn)
		if err := <-done; err != nil {
			t.Fatal(err)
		}

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
		if _, err := e.Erase(t.Context(), "acme", streamwatch.EraseOptions{}); !errors.Is(err, cut) {
			t.Fatalf("error = %v, want that of the store", err)
		}
		r, err := e.Erase(t.Context(), "acme", streamwatch.EraseOptions{})
		if err != nil || r.Monitors != 1 || r.Cursors != 1 {
			t.Errorf("the second Erase: %+v, %v, want one monitor, and the cursor that nobody else needs", r, err)
		}
	})
}

// Ledger entries that have to be kept are kept under a name that tells nothing, with
// the balances that they had.
func TestEraseKeepsTheLedgerUnderAnotherName(t *testing.T) {
	store := memory.New(memory.Options{MaxEntries: 20})
	credit(t, store.Ledger(), "invoice of acme 1", 100)
	for i := range 15 {
		if err := store.Ledger().Append(t.Context(), billing.Entry{ID: fmt.Sprint("theirs ", i), Owner: "globex"}); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b", "c", "d", "e"} { // invoice 1 is not stored any more
		err := store.Ledger().Append(t.Context(), billing.Entry{ID: "acme " + id, Owner: "acme", Kind: billing.KindMonitor, Amount: -billing.Credit, SourceID: "mon_1", SourceName: "acme's", At: time.Unix(1e9, 0)})
		if err != nil {
			t.Fatal(err)
		}
	}
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
	big := streamwatch.EraseOptions{KeepLedgerAs: "acme"}
	if _, err := e.Erase(t.Context(), "acme", big); err == nil || !strings.Contains(err.Error(), "KeepLedgerAs") {
		t.Errorf("the owner's own name: %v, want a refusal", err)
	}
	r, err := e.Erase(t.Context(), "acme", streamwatch.EraseOptions{KeepLedgerAs: "customer 4711"})
	if err != nil || r.KeptEntries != 5 || r.Entries != 5 {
		t.Fatalf("%+v, %v, want 5 entries kept", r, err)
	}
	page, err := store.Ledger().Entries(t.Context(), billing.EntryQuery{Owner: "customer 4711", Asc: true})
	if err != nil {
		t.Fatal(err)
	}
	var balances []billing.Credits
	for _, entry := range page.Entries {
		balances = append(balances, entry.Balance/billing.Credit)
		if strings.Contains(entry.ID+entry.SourceID+entry.SourceName, "acme") || entry.SourceID != "" {
			t.Errorf("a kept entry tells of the owner: %+v", entry)
		}
	}
	if want := []billing.Credits{100, 99, 98, 97, 96, 95}; !slices.Equal(balances, want) {
		t.Errorf("balances %v, want %v", balances, want)
	}
	if b, err := store.Ledger().Balance(t.Context(), "acme"); err != nil || b != (billing.Balance{}) {
		t.Errorf("the owner's balance is %v, %v", b, err)
	}
}

// removingSome is a store whose Erase is cut short after the oldest ledger entry.
type removingSome struct {
	*memory.Store
	cut bool
}

func (s *removingSome) Ledger() billing.Ledger {
	if s.cut {
		return withoutFirst{s.Store.Ledger()}
	}
	return s.Store.Ledger()
}

func (s *removingSome) Erase(ctx context.Context, owner string, targets ...string) (storage.Erased, error) {
	if !s.cut {
		s.cut = true
		return storage.Erased{}, errors.New("cut short")
	}
	return s.Store.Erase(ctx, owner, targets...)
}

// withoutFirst shows of acme's entries all but the oldest.
type withoutFirst struct{ billing.Ledger }

func (l withoutFirst) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	page, err := l.Ledger.Entries(ctx, q)
	if q.Owner == "acme" && q.Asc && q.Cursor == "" && len(page.Entries) > 0 {
		page.Entries = page.Entries[1:]
	}
	return page, err
}

// An Erase that is made again after the store has removed some of the ledger keeps no
// entry twice, and makes none of those that are kept already.
func TestEraseMadeAgainKeepsTheLedgerOnce(t *testing.T) {
	store := &removingSome{Store: memory.New(memory.Options{})}
	credit(t, store.Ledger(), "acme", 100)
	for _, id := range []string{"a", "b"} {
		if err := store.Ledger().Append(t.Context(), billing.Entry{ID: id, Owner: "acme", Kind: billing.KindMonitor, Amount: -billing.Credit}); err != nil {
			t.Fatal(err)
		}
	}
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
	keep := streamwatch.EraseOptions{KeepLedgerAs: "customer 4711"}
	if _, err := e.Erase(t.Context(), "acme", keep); err == nil {
		t.Fatal("the first Erase was not cut short")
	}
	if _, err := e.Erase(t.Context(), "acme", keep); err != nil {
		t.Fatal(err)
	}
	if b, err := store.Ledger().Balance(t.Context(), "customer 4711"); err != nil || b.Available != 98*billing.Credit {
		t.Errorf("the kept balance is %v, %v, want 98 credits", b.Available, err)
	}
}

func TestEraseNeedsAStoreThatCan(t *testing.T) {
	e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: struct{ storage.Store }{memory.New(memory.Options{})}})
	if _, err := e.Erase(t.Context(), "acme", streamwatch.EraseOptions{}); !errors.Is(err, streamwatch.ErrNoEraser) {
		t.Errorf("error = %v, want ErrNoEraser", err)
	}
}
