package streamwatch_test

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// fullDisk is a store that can be read, and written to unless it is full.
type fullDisk struct {
	storage.Store
	full, hangs atomic.Bool
	commits     atomic.Int32 // those that were asked for
}

func (f *fullDisk) Ports() storage.Ports {
	p := f.Store.Ports()
	p.Journal = fullJournal{p.Journal, f}
	p.Outbox = fullOutbox{p.Outbox, f}
	p.State = fullState{p.State, f}
	return p
}

func (f *fullDisk) write(ctx context.Context, do func() error) error {
	if f.hangs.Load() {
		<-ctx.Done()
		return ctx.Err()
	}
	if f.full.Load() {
		return syscall.ENOSPC
	}
	return do()
}

type fullJournal struct {
	detect.Journal
	f *fullDisk
}

func (j fullJournal) Commit(ctx context.Context, batches []*detect.Batch) error {
	j.f.commits.Add(1)
	return j.f.write(ctx, func() error { return j.Journal.Commit(ctx, batches) })
}

type fullState struct {
	record.State
	f *fullDisk
}

func (s fullState) Swap(ctx context.Context, n record.Name, version uint64, value []byte, ttl time.Duration) (after uint64, err error) {
	s.f.commits.Add(1)
	err = s.f.write(ctx, func() (err error) { after, err = s.State.Swap(ctx, n, version, value, ttl); return err })
	return after, err
}

type fullOutbox struct {
	deliver.Outbox
	f *fullDisk
}

func (o fullOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	return o.f.write(ctx, func() error { return o.Outbox.Settle(ctx, ss...) })
}

// A disk that is full can be read, so only a write shows it: the engine's own, or
// one that is made for the question when there was none lately.
func TestWritable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fullDisk{Store: memory.New(memory.Options{})}
		defer store.Close(context.Background())
		e := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{}), Store: store})
		want := func(want error, commits int32) {
			t.Helper()
			if err := e.Writable(t.Context()); want == nil && err != nil || want != nil && (!errors.Is(err, want) || !errors.Is(err, streamwatch.ErrWrites)) {
				t.Errorf("Writable = %v, want %v", err, want)
			}
			if n := store.commits.Load(); n != commits {
				t.Errorf("%d writes, want %d", n, commits)
			}
		}
		for range 100 {
			want(nil, 1)
		}
		pass(5 * time.Second)
		want(nil, 2)
		store.full.Store(true)
		want(nil, 2) // within what was asked last
		pass(5 * time.Second)
		for range 100 {
			want(syscall.ENOSPC, 3)
		}
		store.full.Store(false)
		pass(5 * time.Second)
		want(nil, 4)
		store.hangs.Store(true)
		pass(5 * time.Second)
		from := time.Now()
		want(context.DeadlineExceeded, 5)
		if took := time.Since(from); took != 2*time.Second {
			t.Errorf("a store that hangs took %v, want 2s", took)
		}
	})
}

// What the engine writes itself counts, and spares the question's own write.
func TestWritableKnowsTheEnginesWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &fullDisk{Store: memory.New(memory.Options{})}
		defer store.Close(context.Background())
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store, OnEvent: func(context.Context, deliver.Event) error { return nil }})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: time.Second})
		pass(10 * time.Second)
		p.Post("nasa", "Lift-off")
		pass(2 * time.Second)
		n := store.commits.Load()
		if err := e.Writable(t.Context()); err != nil || store.commits.Load() != n {
			t.Errorf("Writable = %v after %d writes more, want nil after none", err, store.commits.Load()-n)
		}
		store.full.Store(true)
		p.Post("nasa", "Landing")
		pass(1500 * time.Millisecond) // the last probe's outcome would stand for longer
		if err := e.Writable(t.Context()); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("Writable = %v after a commit failed, want ENOSPC", err)
		}
		store.full.Store(false)
		pass(time.Minute)
		if err := e.Writable(t.Context()); err != nil {
			t.Errorf("Writable = %v once there is room again", err)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
