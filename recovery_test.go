package streamwatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// wrapped is a store with one role replaced.
type wrapped struct {
	storage.Store
	journal detect.Journal
	outbox  deliver.Outbox
}

func (w wrapped) Ports() storage.Ports {
	p := w.Store.Ports()
	p.Journal = func() detect.Journal {
		if w.journal != nil {
			return w.journal
		}
		return p.Journal
	}()
	p.Outbox = func() deliver.Outbox {
		if w.outbox != nil {
			return w.outbox
		}
		return p.Outbox
	}()
	return p
}

// slowJournal can hold up its calls.
type slowJournal struct {
	detect.Journal
	mu      sync.Mutex
	commit  func() error // before
	after   func() error // after the commit took effect
	cursors func()
}

func (j *slowJournal) Commit(ctx context.Context, bs []*detect.Batch) error {
	j.mu.Lock()
	before, after := j.commit, j.after
	j.mu.Unlock()
	if before != nil {
		if err := before(); err != nil {
			return err
		}
	}
	if err := j.Journal.Commit(ctx, bs); err != nil {
		return err
	}
	if after != nil {
		return after()
	}
	return nil
}

func (j *slowJournal) Cursors(ctx context.Context, ts ...string) ([]detect.Cursor, error) {
	j.mu.Lock()
	f := j.cursors
	j.mu.Unlock()
	if f != nil {
		f()
	}
	return j.Journal.Cursors(ctx, ts...)
}

// The answer to a Commit that took effect is lost, once. The delivery is
// due in 45 s; it comes within the hour.
func TestLostCommitAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		store := memory.New(memory.Options{})
		j := &slowJournal{Journal: store.Ports().Journal}
		var in inbox
		var at time.Time
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: wrapped{Store: store, journal: j}, OnEvent: func(ctx context.Context, ev deliver.Event) error {
			at = time.Now()
			return in.handle(ctx, ev)
		}})
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(30 * time.Second)
		lost := false
		j.mu.Lock()
		j.after = func() error {
			if lost {
				return nil
			}
			lost = true
			return context.DeadlineExceeded
		}
		j.mu.Unlock()
		began := time.Now()
		p.Post("nasa", "Lift-off")
		pass(3 * time.Hour)
		if len(in.ids()) != 1 || at.Sub(began) > 2*time.Minute {
			t.Errorf("handled %v, %s after it was posted", in.ids(), at.Sub(began))
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What is changed while Start goes through the monitors holds: a monitor that is deleted is
// not watched, an account that is added is.
func TestChangesDuringStart(t *testing.T) {
	for name, row := range map[string]struct {
		change func(ctx context.Context, e *streamwatch.Engine, id string) error
		want   int // events of a post by esa, and targets
	}{
		"delete": {func(ctx context.Context, e *streamwatch.Engine, id string) error {
			return e.Monitors().Delete(ctx, "", id)
		}, 0},
		"update": {func(ctx context.Context, e *streamwatch.Engine, id string) error {
			_, err := e.Monitors().Update(ctx, "", id, monitor.UpdateRequest{Usernames: &[]string{"esa"}})
			return err
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
				store := memory.New(memory.Options{})
				j := &slowJournal{Journal: store.Ports().Journal}
				var in inbox
				e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: in.handle, Store: wrapped{Store: store, journal: j}})
				m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
				slow := true
				j.cursors = func() {
					if slow { // the first call, Start's
						slow = false
						<-time.After(time.Second)
					}
				}
				started := make(chan error, 1)
				go func() { started <- e.Start(t.Context()) }()
				pass(500 * time.Millisecond)
				if err := row.change(t.Context(), e, m.ID); err != nil {
					t.Fatal(err)
				}
				if err := <-started; err != nil {
					t.Fatal(err)
				}
				pass(time.Minute)
				p.Post("nasa", "Lift-off")
				p.Post("esa", "Lift-off")
				pass(time.Hour)
				if got := in.ids(); len(got) != row.want || e.Stats().Detect.Targets != int64(row.want) {
					t.Errorf("%d events, %d targets, want %d of both", len(got), e.Stats().Detect.Targets, row.want)
				}
				if err := e.Shutdown(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Delete's caller gives up while a commit is under way. The monitor is deleted all the same, and
// nothing watches it when the commit has ended.
func TestDeleteWhenItsCallerGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		store := memory.New(memory.Options{})
		j := &slowJournal{Journal: store.Ports().Journal}
		var in inbox
		e := newEngine(t, streamwatch.Config{Fetcher: p, OnEvent: in.handle, Store: wrapped{Store: store, journal: j}})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		pass(20 * time.Second)
		j.mu.Lock()
		j.commit = func() error { <-time.After(10 * time.Second); return nil }
		j.mu.Unlock()
		first := p.Post("nasa", "a")
		pass(8 * time.Second) // the commit is under way
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		err := e.Monitors().Delete(ctx, "", m.ID)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("Delete: %v", err)
		}
		pass(time.Minute)
		p.Post("nasa", "b")
		pass(time.Hour)
		if _, err := e.Monitors().Get(t.Context(), "", m.ID); !errors.Is(err, monitor.ErrNotFound) {
			t.Errorf("Get = %v, want ErrNotFound", err)
		}
		if ids := in.ids(); !slices.Equal(ids, []string{first.ID}) || e.Stats().Detect.Targets != 0 {
			t.Errorf("handled %v, want %s alone; targets %d", ids, first.ID, e.Stats().Detect.Targets)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// An account failed when the last process ended, and recovered before the
// next: its error stays in the monitor for ever.
func TestTroubleOfTheLastProcessIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa", "esa"}})
		store := memory.New(memory.Options{})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: store})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		m := create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nsaa"}})
		pass(time.Second)
		if err := e.Shutdown(t.Context()); err != nil {
			t.Fatal(err)
		}
		p.Rename("esa", "nsaa")
		e = newEngine(t, streamwatch.Config{Fetcher: p, Store: store})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		pass(time.Hour)
		if got, _ := e.Monitors().Get(t.Context(), "", m.ID); got.StatusReason != "" {
			t.Errorf("reason %q an hour after the recovery; polls %d, errors %d", got.StatusReason, e.Stats().Detect.Polls, e.Stats().Detect.PollErrors)
		}
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// hangingOutbox hangs until the context ends, once told to.
type hangingOutbox struct {
	deliver.Outbox
	hang chan struct{}
}

func (h hangingOutbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	select {
	case <-h.hang:
		<-ctx.Done()
		return ctx.Err()
	default:
		return h.Outbox.Settle(ctx, ss...)
	}
}

// A store that hangs and honours its contexts: the settler's two tries and
// the giving back take 15 s, Shutdown waits 10, leaves goroutines behind and
// blames a Fetcher or Sender.
func TestShutdownWithAHangingStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}})
		store := memory.New(memory.Options{})
		hang := make(chan struct{})
		e := newEngine(t, streamwatch.Config{Fetcher: p, Store: wrapped{Store: store, outbox: hangingOutbox{store.Ports().Outbox, hang}},
			OnEvent: func(ctx context.Context, _ deliver.Event) error { <-ctx.Done(); return ctx.Err() }})
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		create(t, e, monitor.CreateRequest{Name: "m", Usernames: []string{"nasa"}, PollInterval: 5 * time.Second})
		pass(20 * time.Second)
		for range 5 {
			p.Post("nasa", "a")
		}
		pass(10 * time.Second)
		close(hang)
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // ended already
		err := e.Shutdown(ctx)
		if err != nil && strings.Contains(err.Error(), "did not stop") {
			t.Errorf("Shutdown: %v", err)
		}
		pass(time.Minute)
	})
}
