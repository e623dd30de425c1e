package platforms

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shelf is a Journal that numbers the deliveries it makes.
type shelf struct {
	detect.Journal
	mu      sync.Mutex
	n       int
	fail    error
	cursors []detect.Cursor
}

func (s *shelf) Commit(_ context.Context, batches []*detect.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		return s.fail
	}
	for _, b := range batches {
		if b.Cursor != nil {
			s.cursors = append(s.cursors, *b.Cursor)
		}
		for range b.Events {
			s.n++
			b.Deliveries = append(b.Deliveries, deliver.Delivery{ID: string(rune('0' + s.n))})
		}
	}
	return nil
}

func (s *shelf) Cursors(_ context.Context, targets ...string) (found []detect.Cursor, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.cursors {
		if slices.Contains(targets, c.Target) {
			found = append(found, c)
		}
	}
	return found, nil
}

func TestCommitsAreHandedOnInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var handed []string
		store := &shelf{}
		all := NewCommits(func(ds []deliver.Delivery) {
			for _, d := range ds {
				handed = append(handed, d.ID)
			}
		})
		commit := func(name string, events int, pause time.Duration) {
			j, hand := all.Of(name, store)
			b := &detect.Batch{Events: make([]deliver.Event, events)}
			if err := j.Commit(t.Context(), []*detect.Batch{b}); err != nil {
				t.Error(err)
			}
			<-time.After(pause)
			if len(b.Deliveries) > 0 {
				hand(b.Deliveries)
			}
		}
		go commit("a", 2, time.Minute)
		synctest.Wait()
		go commit("b", 1, 0)
		synctest.Wait()
		go commit("", 0, 0)
		<-time.After(2 * time.Minute)
		synctest.Wait()
		if !slices.Equal(handed, []string{"1", "2", "3"}) {
			t.Errorf("handed on %v, want the order of the commits", handed)
		}
		store.fail = errors.New("disk full")
		j, _ := all.Of("a", store)
		if err := j.Commit(t.Context(), []*detect.Batch{{}}); err == nil {
			t.Error("no error")
		}
		store.fail = nil
		commit("b", 1, 0) // the failed one does not hold the others
	})
}

func TestCursorsOfPlatforms(t *testing.T) {
	store := &shelf{}
	all := NewCommits(func([]deliver.Delivery) {})
	a, _ := all.Of("a", store)
	none, _ := all.Of("", store)
	b := &detect.Batch{Cursor: &detect.Cursor{Target: "account:nasa", UserID: "1"}}
	for range 2 { // a batch comes again when another one of its group was refused
		if err := a.Commit(t.Context(), []*detect.Batch{b}); err != nil {
			t.Fatal(err)
		}
	}
	if err := none.Commit(t.Context(), []*detect.Batch{{Cursor: &detect.Cursor{Target: "account:nasa", UserID: "2"}}}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		j    detect.Journal
		want []string
	}{{a, []string{"1", "1"}}, {none, []string{"2"}}} {
		found, err := row.j.Cursors(t.Context(), "account:nasa")
		var ids []string
		for _, c := range found {
			ids = append(ids, c.UserID)
			if c.Target != "account:nasa" {
				t.Errorf("target %q", c.Target)
			}
		}
		if err != nil || !slices.Equal(ids, row.want) {
			t.Errorf("cursors %v, %v, want %v", ids, err, row.want)
		}
	}
}

// watched is a context that notes whether somebody waits for it.
type watched struct {
	context.Context
	done bool
}

func (w *watched) Done() <-chan struct{} {
	w.done = true
	return w.Context.Done()
}

// The detectors' contexts make a timer when they are waited for, which costs more than the
// rest of a commit in memory.
func TestFreeTurnWaitsForNothing(t *testing.T) {
	j, _ := NewCommits(nil).Of("", &shelf{})
	ctx := &watched{Context: t.Context()}
	if err := j.Commit(ctx, []*detect.Batch{{}}); err != nil || ctx.done {
		t.Errorf("error %v, waited for the context: %v; want neither", err, ctx.done)
	}
}
