package streamwatch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// keyless is a store that does not say which shared key it has until the context ends.
type keyless struct{ *memory.Store }

func (s keyless) Journal() detect.Journal { return keylessJournal{s.Store.Journal()} }

type keylessJournal struct{ detect.Journal }

func (j keylessJournal) Cursors(ctx context.Context, targets ...string) ([]detect.Cursor, error) {
	if !slices.Contains(targets, "shared key") {
		return j.Journal.Cursors(ctx, targets...)
	}
	<-ctx.Done()
	return nil, ctx.Err()
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
