package streamwatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// keyless is a store that does not say which shared key it has until the context ends.
type keyless struct{ *memory.Store }

func (s keyless) Ports() storage.Ports {
	p := s.Store.Ports()
	p.State = keylessState{p.State}
	return p
}

type keylessState struct{ record.State }

func (keylessState) Get(ctx context.Context, _ record.Name) (record.Value, error) {
	<-ctx.Done()
	return record.Value{}, ctx.Err()
}

// All engines on a store have one key, whoever makes it, and those that come later.
func TestSharedKeyIsShared(t *testing.T) {
	store := memory.New(memory.Options{})
	keys := make([]secret.Value, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
			key, err := e.SharedKey(t.Context())
			if keys[i] = key; err != nil || len(key) < 32 {
				t.Errorf("key of %d bytes, %v", len(key), err)
			}
		})
	}
	all.Wait()
	if len(slices.Compact(keys)) != 1 {
		t.Error("the engines have different keys")
	}
}

// Who asks for the shared key waits no longer than its own context allows, whoever else
// waits for the store.
func TestSharedKeyKeepsToItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: keyless{memory.New(memory.Options{})},
			Fleet: &streamwatch.FleetConfig{Name: "a"}})
		begin := time.Now()
		first := make(chan error)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			_, err := e.SharedKey(ctx)
			first <- err
		}()
		synctest.Wait()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if key, err := e.SharedKey(ctx); key != "" || !errors.Is(err, context.Canceled) || time.Since(begin) > 0 {
			t.Errorf("the second: %q, %v after %s; want that its context has ended, at once", key, err, time.Since(begin))
		}
		if err := <-first; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the first: %v", err)
		}
	})
}
