package streamwatch_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// The answer to a Commit that took effect is lost, once. The delivery is due in 45 s all the same.
func TestLostCommitAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := platformOf("nasa"), newTapped()
		var in inbox
		e := running(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: in.handle})
		aMonitor.make(t, e, "m", "nasa", "")
		pass(30 * time.Second)
		store.on(func(_ context.Context, call string) error {
			if call != "Committed" {
				return nil
			}
			store.on(nil)
			return context.DeadlineExceeded
		})
		p.Post("nasa", "Lift-off")
		pass(2 * time.Minute)
		in.wants(t, "two minutes later", "", "Lift-off")
		pass(3 * time.Hour)
		in.wants(t, "three hours later", "", "Lift-off")
	})
}

// A disk that is full can be read, so only a write shows it: the engine's own, or one that is made
// for the question when there was none lately.
func TestWritable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := platformOf("nasa"), newTapped()
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store})
		var full, hangs atomic.Bool
		var writes atomic.Int64
		store.on(func(ctx context.Context, call string) error {
			switch {
			case call != "Commit" && call != "Swap" && call != "Settle":
				return nil
			case hangs.Load():
				writes.Add(1)
				<-ctx.Done()
				return ctx.Err()
			case full.Load():
				writes.Add(1)
				return syscall.ENOSPC
			}
			writes.Add(1)
			return nil
		})
		asks := func(when string, want error, made int64) {
			t.Helper()
			before := writes.Load()
			for range 100 {
				if err := e.Writable(t.Context()); want == nil && err != nil || want != nil && (!errors.Is(err, want) || !errors.Is(err, streamwatch.ErrWrites)) {
					t.Errorf("%s: Writable = %v, want %v", when, err, want)
				}
			}
			if n := writes.Load() - before; n != made {
				t.Errorf("%s: %d writes, want %d", when, n, made)
			}
		}
		asks("at first", nil, 1)
		pass(5 * time.Second)
		asks("later", nil, 1)
		full.Store(true)
		asks("within 5 s of a write", nil, 0)
		pass(5 * time.Second)
		asks("full", syscall.ENOSPC, 1)
		full.Store(false)
		pass(5 * time.Second)
		asks("not full", nil, 1)
		hangs.Store(true)
		pass(5 * time.Second)
		from := time.Now()
		asks("a store that hangs", context.DeadlineExceeded, 1)
		if took := time.Since(from); took != 1800*time.Millisecond {
			t.Errorf("a store that hangs took %v, want 1.8s", took)
		}
		hangs.Store(false)
		ok(t, e.Start(t.Context()))
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
		pass(10 * time.Second)
		p.Post("nasa", "Lift-off")
		pass(2 * time.Second)
		asks("the engine has written", nil, 0)
		full.Store(true)
		p.Post("nasa", "Landing")
		pass(1500 * time.Millisecond) // the last outcome would stand for longer
		asks("the engine's commit failed", syscall.ENOSPC, 0)
		full.Store(false)
		pass(time.Minute)
		asks("there is room again", nil, 1)
		ok(t, e.Shutdown(t.Context()))
	})
}

// Watch tells of each new event of every owner once, until it is stopped.
func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := platformOf("nasa")
		e := running(t, streamwatch.Config{Fetcher: p})
		var first, second inbox
		stop := e.Watch(first.take)
		for _, of := range []string{"acme", "globex"} {
			create(t, e, monitor.CreateRequest{Owner: of, Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
		}
		post := func(text string) {
			pass(2 * time.Second)
			p.Post("nasa", text)
			pass(2 * time.Second)
		}
		post("1")
		also := e.Watch(second.take)
		post("2")
		stop()
		post("3")
		also()
		post("4")
		first.wants(t, "who was there first", "", "1", "1", "2", "2")
		second.wants(t, "who came later", "", "2", "2", "3", "3")
	})
}

// All engines on a store have one key, whoever makes it, and those that come later.
func TestSharedKeyIsShared(t *testing.T) {
	store := memory.New(memory.Options{})
	keys := make([]secret.Value, 8)
	var all sync.WaitGroup
	for i := range keys {
		all.Go(func() {
			e := newEngine(t, streamwatch.Config{Fetcher: platformOf(), Store: store})
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

// Who asks for the shared key waits no longer than its own context allows, whoever else waits for
// the store.
func TestSharedKeyKeepsToItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newTapped()
		store.on(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })
		e := newEngine(t, streamwatch.Config{Fetcher: platformOf(), Store: store})
		begin, first := time.Now(), make(chan error)
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
