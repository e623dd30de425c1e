package streamwatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// keyed is a running engine, and two managers of keys on its store, as on two machines.
type keyed struct {
	t        *testing.T
	engine   *streamwatch.Engine
	store    *memory.Store
	one, two *apikey.Manager
}

func newKeyed(t *testing.T, wrap func(*memory.Store) storage.Store) (k keyed, stop func()) {
	k = keyed{t: t, store: memory.New(memory.Options{})}
	var used storage.Store = k.store
	if wrap != nil {
		used = wrap(k.store)
	}
	k.engine = newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: used})
	for _, m := range []**apikey.Manager{&k.one, &k.two} {
		var err error
		if *m, err = apikey.NewManager(apikey.Config{Store: k.store.Keys()}); err != nil {
			t.Fatal(err)
		}
	}
	return k, startEngine(t, k.engine)
}

// request begins a request with a key that is let in by the second manager.
func (k keyed) request(key apikey.Issued) context.Context {
	k.t.Helper()
	ctx, err := k.engine.Begin(k.t.Context())
	if err == nil {
		_, err = k.two.Authenticate(ctx, key.Secret)
	}
	if err != nil {
		k.t.Fatal(err)
	}
	return ctx
}

// issue issues a key as a request does.
func (k keyed) issue(ctx context.Context) (key apikey.Issued) {
	k.t.Helper()
	err := streamwatch.UnlessErased(ctx, "acme",
		func(ctx context.Context) (err error) {
			key, err = k.one.Issue(ctx, apikey.IssueRequest{Owner: "acme", Name: "k"})
			return err
		},
		func(ctx context.Context) error { return k.one.Delete(ctx, "acme", key.ID) })
	if err != nil {
		k.t.Fatal(err)
	}
	return key
}

func (k keyed) erase(ctx context.Context) error {
	_, err := k.engine.Erase(ctx, "acme")
	return err
}

func (k keyed) refused(key apikey.Issued) {
	k.t.Helper()
	if _, err := k.two.Authenticate(k.t.Context(), key.Secret); !errors.Is(err, apikey.ErrInvalid) {
		k.t.Errorf("a key after Erase: %v, want apikey.ErrInvalid", err)
	}
}

// An Erase that is made again at once waits for the keys that the first one deleted.
func TestEraseMadeAgainWaitsForKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, stop := newKeyed(t, nil)
		defer stop()
		key := k.issue(t.Context())
		k.request(key)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		if err := k.erase(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("the first Erase: %v, want that its context has ended", err)
		}
		if err := k.erase(t.Context()); err != nil {
			t.Fatal(err)
		}
		k.refused(key)
	})
}

// A key that was issued with one that Erase had deleted goes as that did: nobody lets it in
// afterwards, and what was let in with it makes nothing.
func TestEraseRefusesKeysIssuedMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, stop := newKeyed(t, nil)
		defer stop()
		first := k.issue(t.Context())
		k.request(first)
		erased := make(chan error, 1)
		go func() { erased <- k.erase(t.Context()) }()
		pass(900 * time.Millisecond)
		second := k.issue(k.request(first))
		k.request(second)
		pass(600 * time.Millisecond)
		late := k.request(second)
		if err := <-erased; err != nil {
			t.Fatal(err)
		}
		k.refused(second)
		if err := creations["monitors"](late, k.engine, "acme", "late"); !errors.Is(err, streamwatch.ErrErasing) {
			t.Errorf("what a request from during Erase makes: %v, want ErrErasing", err)
		}
		if err := creations["monitors"](t.Context(), k.engine, "acme", "again"); err != nil {
			t.Errorf("the owner has come back: %v", err)
		}
	})
}

// twoDeleters is a store in which another deletes each key at the same moment.
type twoDeleters struct{ *memory.Store }

func (s twoDeleters) Keys() apikey.Store { return deletedTwice{s.Store.Keys()} }

type deletedTwice struct{ apikey.Store }

func (s deletedTwice) Delete(ctx context.Context, owner, id string) error {
	if err := s.Store.Delete(ctx, owner, id); err != nil {
		return err
	}
	return apikey.ErrNotFound
}

// A key that another has just deleted is no error.
func TestEraseBesideADeletionOfAKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, stop := newKeyed(t, func(s *memory.Store) storage.Store { return twoDeleters{s} })
		defer stop()
		key := k.issue(t.Context())
		if err := k.erase(t.Context()); err != nil {
			t.Error(err)
		}
		k.refused(key)
	})
}

// An engine that was shut down erases nothing, not half of it.
func TestEraseAfterShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k, stop := newKeyed(t, nil)
		key := k.issue(t.Context())
		stop()
		if err := k.erase(t.Context()); !errors.Is(err, streamwatch.ErrNotRunning) {
			t.Errorf("Erase after Shutdown: %v, want ErrNotRunning", err)
		}
		k.request(key)
		other := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: k.store})
		if err := creations["monitors"](t.Context(), other, "acme", "m"); err != nil {
			t.Errorf("through another engine on the store: %v", err)
		}
	})
}
