package control_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/heard"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// engine is a follower that notes what it applies and fails on demand.
type engine struct {
	*control.Follower
	store *spy
	log   heard.Output

	mu       sync.Mutex
	applied  []string              // ids; "all" for a Reread
	fail     map[string]error      // by id
	failAll  error                 // what Reread returns
	onApply  func(context.Context) // called by Apply
	onReread func()                // called by Reread
}

func newEngine() *engine {
	e := &engine{store: newSpy(), fail: map[string]error{}}
	e.Follower = control.NewFollower(control.FollowerConfig{Records: e.store, Apply: e.apply, Reread: e.reread, Logger: slog.New(slog.NewTextHandler(&e.log, nil))})
	return e
}

func (e *engine) apply(ctx context.Context, entry record.Entry) error {
	if e.onApply != nil {
		e.onApply(ctx)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	id := entry.ID
	e.applied = append(e.applied, id)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return e.fail[id]
}

func (e *engine) reread(context.Context) error {
	if e.onReread != nil {
		e.onReread()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.applied = append(e.applied, "all")
	return e.failAll
}

// took returns what was applied since the last call.
func (e *engine) took() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	s := strings.Join(e.applied, " ")
	e.applied = nil
	return s
}

func (e *engine) set(id string, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.fail[id] = err
}

// begin makes the follower begin.
func (e *engine) begin(t *testing.T) {
	t.Helper()
	if err := e.Reread(t.Context(), e.reread); err != nil {
		t.Fatal(err)
	}
	e.took()
}

func (e *engine) expect(t *testing.T, what, want string) {
	t.Helper()
	if got := e.took(); got != want {
		t.Errorf("%s: applied %q, want %q", what, got, want)
	}
}

func (e *engine) put(t *testing.T, ids ...string) {
	t.Helper()
	for _, id := range ids {
		e.store.put(t, monitorKey(id), 0)
	}
}

func TestFollower(t *testing.T) {
	follow := func(name string, test func(t *testing.T, e *engine)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := newEngine()
				defer goRun(t, e.Run)()
				test(t, e)
			})
		})
	}
	follow("nothing before the first Reread", func(t *testing.T, e *engine) {
		e.put(t, "a")
		if err := e.Applied(t.Context(), "acme", monitorKey("a")); err != nil {
			t.Error(err)
		}
		pass(time.Minute)
		e.expect(t, "before", "")
		e.begin(t)
		e.put(t, "b")
		pass(time.Second)
		e.expect(t, "after", "b") // a was read
	})
	follow("in the order of the feed, within a second", func(t *testing.T, e *engine) {
		e.begin(t)
		e.put(t, "a", "b")
		e.store.put(t, monitorKey("a"), 1)
		if _, err := e.store.Store.Apply(t.Context(), record.Change{Delete: []record.Ref{{Key: monitorKey("b"), Owner: "acme"}}}); err != nil {
			t.Fatal(err)
		}
		pass(time.Second)
		e.expect(t, "changes of another process", "a b a b")
		pass(time.Minute)
		e.expect(t, "later", "")
	})
	follow("at once after a signal", func(t *testing.T, e *engine) {
		e.begin(t)
		e.put(t, "a")
		e.Wake()
		synctest.Wait()
		e.expect(t, "signalled", "a")
	})
	follow("more than a page", func(t *testing.T, e *engine) {
		e.begin(t)
		for i := range 2500 {
			e.put(t, fmt.Sprint(i))
		}
		e.put(t, "last")
		if err := e.Applied(t.Context(), "acme", monitorKey("last")); err != nil {
			t.Error(err)
		}
		if all := strings.Fields(e.took()); len(all) != 2501 || all[2500] != "last" {
			t.Errorf("applied %d entries", len(all))
		}
	})
	follow("an own change is in effect when Applied returns", func(t *testing.T, e *engine) {
		e.begin(t)
		e.put(t, "others", "own")
		if err := e.Applied(t.Context(), "acme", monitorKey("own")); err != nil {
			t.Error(err)
		}
		e.expect(t, "own", "others own")
	})
	follow("a record that fails holds up no other", func(t *testing.T, e *engine) {
		e.begin(t)
		e.set("a", errDown)
		e.put(t, "a", "b")
		if err := e.Applied(t.Context(), "acme", monitorKey("b")); err != nil {
			t.Error(err)
		}
		if err := e.Applied(t.Context(), "acme", monitorKey("a")); !errors.Is(err, errDown) || e.Failing() != 1 {
			t.Errorf("error %v, %d failing; want %v, 1", err, e.Failing(), errDown)
		}
		e.expect(t, "both", "a b")
		pass(3 * time.Second)
		e.expect(t, "each second", "a a a")
		e.set("a", nil)
		pass(time.Second)
		e.expect(t, "fixed", "a")
		if err := e.Applied(t.Context(), "acme", monitorKey("a")); err != nil || e.Failing() != 0 {
			t.Errorf("fixed: error %v, %d failing", err, e.Failing())
		}
		pass(time.Minute)
		e.expect(t, "later", "")
		if n := strings.Count(e.log.String(), "cannot apply the change of a record"); n != 1 {
			t.Errorf("%d messages, want one:\n%s", n, &e.log)
		}
	})
	follow("owners fail apart", func(t *testing.T, e *engine) {
		e.begin(t)
		e.set(record.OwnerID("x"), errDown)
		for _, owner := range []string{"x", "y"} {
			if _, err := e.store.Store.Apply(t.Context(), record.Change{Gone: &record.Gone{Owner: owner, Until: time.Now().Add(time.Hour)}}); err != nil {
				t.Fatal(err)
			}
		}
		of := func(owner string) record.Key { return record.Key{Kind: record.Owner, ID: record.OwnerID(owner)} }
		if err := e.Applied(t.Context(), "", of("y")); err != nil {
			t.Errorf("y: %v", err)
		}
		if err := e.Applied(t.Context(), "", of("x")); !errors.Is(err, errDown) {
			t.Errorf("x: %v, want %v", err, errDown)
		}
		e.took()
		pass(time.Second)
		e.expect(t, "each second", record.OwnerID("x"))
	})
	follow("a feed that does not reach back", func(t *testing.T, e *engine) {
		e.begin(t)
		old := true
		e.store.set(func() {
			e.store.since = func(after uint64) error {
				if old && after < 10 { // the entries of the test
					return record.ErrTooOld
				}
				return nil
			}
		})
		e.onReread = func() { e.store.set(func() { old = false }); e.put(t, "meanwhile") }
		e.put(t, "a", "b")
		pass(time.Second)
		e.expect(t, "all, and what changed meanwhile", "all meanwhile")
		e.log.Wait(t, "does not reach back far enough")
	})
	follow("a feed that begins again", func(t *testing.T, e *engine) {
		e.begin(t)
		e.put(t, "a", "b")
		pass(time.Second)
		e.took()
		e.store.set(func() { e.store.Store = memory.New(memory.Options{}).Ports().Records })
		e.put(t, "c", "d") // with the numbers of a and b
		e.Restart()
		synctest.Wait()
		e.expect(t, "all", "all")
		e.put(t, "e")
		pass(time.Second)
		e.expect(t, "what follows", "e")
	})
	follow("a reread that fails is made again", func(t *testing.T, e *engine) {
		e.begin(t)
		e.failAll = errDown
		e.Restart()
		synctest.Wait()
		e.put(t, "a")
		if err := e.Applied(t.Context(), "acme", monitorKey("a")); !errors.Is(err, errDown) {
			t.Errorf("error %v, want %v", err, errDown)
		}
		e.took()
		pass(2 * time.Second)
		e.expect(t, "each second", "all all")
		e.mu.Lock()
		e.failAll = nil
		e.mu.Unlock()
		pass(2 * time.Second)
		e.expect(t, "once more", "all")
	})
	follow("what failed outlives a reread", func(t *testing.T, e *engine) { // which may not know of it
		e.begin(t)
		e.set("a", errDown)
		e.put(t, "a")
		pass(time.Second)
		e.begin(t)
		pass(time.Second)
		e.expect(t, "each second", "a")
	})
	follow("a store that is down", func(t *testing.T, e *engine) {
		e.begin(t)
		e.put(t, "a")
		e.store.set(func() { e.store.since = func(uint64) error { return errDown } })
		if err := e.Applied(t.Context(), "acme", monitorKey("a")); !errors.Is(err, errDown) {
			t.Errorf("error %v, want %v", err, errDown)
		}
		if err := e.Reread(t.Context(), e.reread); !errors.Is(err, errDown) {
			t.Errorf("reread: %v, want %v", err, errDown)
		}
		pass(time.Minute)
		e.store.set(func() { e.store.since = nil })
		pass(time.Second)
		e.expect(t, "when it is back", "all")
		if n := strings.Count(e.log.String(), "cannot follow the changes of records"); n != 1 {
			t.Errorf("%d messages, want one:\n%s", n, &e.log)
		}
	})
	follow("a caller that is gone", func(t *testing.T, e *engine) {
		e.begin(t)
		ctx, cancel := context.WithCancel(t.Context())
		next, done := make(chan struct{}), make(chan error)
		e.onApply = func(context.Context) { <-next }
		e.put(t, "a", "b")
		go func() { done <- e.Applied(ctx, "acme", monitorKey("a")) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("error %v, want that it was canceled", err)
		}
		close(next)
		synctest.Wait()
		if e.Failing() != 0 {
			t.Errorf("%d failing", e.Failing())
		}
		e.expect(t, "all entries", "a b")
	})
	follow("an entry that hangs is given up", func(t *testing.T, e *engine) {
		e.begin(t)
		hang := true
		e.onApply = func(ctx context.Context) {
			if hang {
				hang = false
				<-ctx.Done()
			}
		}
		e.put(t, "a", "b")
		pass(31*time.Second - 1)
		e.expect(t, "while it hangs", "")
		pass(2 * time.Second)
		if all := e.took(); !strings.Contains(all, "a") || !strings.Contains(all, "b") || e.Failing() != 0 {
			t.Errorf("then: applied %q, %d failing", all, e.Failing())
		}
	})
}

// A change through a manager holds when the call returns, on a node with a follower.
func TestManagerWithAFollower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f *control.Follower
		d := newDesk(t, func(_ *desk, c *control.Config[item, string]) {
			c.Applied = func(ctx context.Context, owner string, k record.Key) error { return f.Applied(ctx, owner, k) }
		})
		f = control.NewFollower(control.FollowerConfig{Records: d.store, Logger: slog.New(slog.DiscardHandler),
			Apply: func(ctx context.Context, e record.Entry) error {
				if e.Kind == record.Owner {
					return d.End(ctx, func(owner string) bool { return record.OwnerID(owner) == e.ID })
				}
				return d.Follow(ctx, e)
			},
			Reread: func(ctx context.Context) error {
				return d.Manager.Reread(ctx, control.Start{}, func(item) bool { return false })
			}})
		early := d.create(t, nil)
		if d.isTracked(early.ID) {
			t.Error("tracked before the follower begins")
		}
		if err := f.Reread(t.Context(), func(ctx context.Context) error {
			return d.Manager.Reread(ctx, control.Start{Spread: true}, func(item) bool { return false })
		}); err != nil || !d.isTracked(early.ID) || !d.how.Spread {
			t.Fatalf("%v, tracked %v %+v", err, d.tracked, d.how)
		}
		defer goRun(t, f.Run)()
		it := d.create(t, func(it *item) { it.Name = "b" })
		if !d.isTracked(it.ID) {
			t.Error("created, and not tracked")
		}
		if _, _, err := d.Update(t.Context(), "acme", it.ID, control.Request{Status: ptr(control.Paused)}, unchanged); err != nil || d.isTracked(it.ID) {
			t.Errorf("paused, and tracked: %t, %v", d.isTracked(it.ID), err)
		}
		if err := d.Delete(t.Context(), "acme", early.ID, 0); err != nil || d.isTracked(early.ID) {
			t.Errorf("deleted, and tracked: %t, %v", d.isTracked(early.ID), err)
		}
		d.elsewhere(t, it.ID, "@esa", control.Active)
		pass(time.Second)
		if !d.isTracked(it.ID) {
			t.Error("not tracked a second after another process resumed it")
		}
	})
}
