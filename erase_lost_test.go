package streamwatch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// lossy is a store that does something before it creates or resumes, and whose reply is then
// lost.
type lossy struct {
	*memory.Store
	before func()
}

func (s *lossy) lose(do func() error) error {
	if s.before == nil {
		return do()
	}
	s.before()
	if err := do(); err != nil {
		return err
	}
	return errSevered
}

func (s *lossy) Monitors() monitor.Store          { return lossyMonitors{s.Store.Monitors(), s} }
func (s *lossy) Rules() rule.Store                { return lossyRules{s.Store.Rules(), s} }
func (s *lossy) Endpoints() deliver.EndpointStore { return lossyEndpoints{s.Store.Endpoints(), s} }

type lossyMonitors struct {
	monitor.Store
	of *lossy
}

func (s lossyMonitors) Create(ctx context.Context, m monitor.Monitor) error {
	return s.of.lose(func() error { return s.Store.Create(ctx, m) })
}

func (s lossyMonitors) Update(ctx context.Context, m monitor.Monitor) error {
	if m.Status != monitor.Active {
		return s.Store.Update(ctx, m)
	}
	return s.of.lose(func() error { return s.Store.Update(ctx, m) })
}

type lossyRules struct {
	rule.Store
	of *lossy
}

func (s lossyRules) Create(ctx context.Context, r rule.Rule) error {
	return s.of.lose(func() error { return s.Store.Create(ctx, r) })
}

type lossyEndpoints struct {
	deliver.EndpointStore
	of *lossy
}

func (s lossyEndpoints) Create(ctx context.Context, e deliver.Endpoint) error {
	return s.of.lose(func() error { return s.EndpointStore.Create(ctx, e) })
}

// newLossy returns an engine on a lossy store, and another on the same store.
func newLossy(t *testing.T) (s *lossy, e, other *streamwatch.Engine) {
	s = &lossy{Store: memory.New(memory.Options{})}
	on := func(store storage.Store) *streamwatch.Engine {
		return newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: store})
	}
	return s, on(s), on(s.Store)
}

// What is stored after its owner was erased is removed although its creation was answered
// with an error, because the store's reply was lost.
func TestEraseAndALostReply(t *testing.T) {
	for kind, create := range creations {
		t.Run(kind, func(t *testing.T) {
			s, e, other := newLossy(t)
			s.before = func() {
				if _, err := other.Erase(t.Context(), "acme"); err != nil {
					t.Fatal(err)
				}
			}
			if err := create(t.Context(), e, "acme", "late"); !errors.Is(err, errSevered) || !errors.Is(err, streamwatch.ErrErasing) {
				t.Errorf("error %v, want that of the store, and ErrErasing", err)
			}
			left, err := s.Erase(t.Context(), "acme")
			left.Changes = 0
			if err != nil || left != (storage.Erased{}) {
				t.Errorf("the store has of the owner %+v, %v", left, err)
			}
		})
	}
}

// A monitor that is resumed while its owner is being erased is paused again although the
// reply was lost.
func TestEraseAndALostReplyToAResumption(t *testing.T) {
	s, e, other := newLossy(t)
	m := create(t, e, monitor.CreateRequest{Owner: "acme", Name: "m", Usernames: []string{"nasa"}})
	if _, err := e.Monitors().Pause(t.Context(), "acme", m.ID); err != nil {
		t.Fatal(err)
	}
	eraser := &heldEraser{Store: s.Store, fail: errors.New("cut short")}
	cut := newEngine(t, streamwatch.Config{Fetcher: enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"nasa"}}), Store: eraser})
	s.before = func() {
		if _, err := cut.Erase(t.Context(), "acme"); err == nil {
			t.Fatal("Erase was not cut short")
		}
	}
	if _, err := e.Monitors().Resume(t.Context(), "acme", m.ID); !errors.Is(err, errSevered) {
		t.Errorf("error %v, want that of the store", err)
	}
	got, err := other.Monitors().Get(t.Context(), "acme", m.ID)
	if err != nil || got.Status != monitor.Paused {
		t.Errorf("%+v, %v, want it paused", got, err)
	}
}

// What UnlessErased may have made is undone if the owner was erased, and only then.
func TestUnlessErasedUndoesWhatMayBeMade(t *testing.T) {
	for _, erased := range []bool{true, false} {
		_, _, other := newLossy(t)
		ctx, err := other.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		undone := false
		err = streamwatch.UnlessErased(ctx, "acme",
			func(ctx context.Context) error {
				if erased {
					if _, err := other.Erase(ctx, "acme"); err != nil {
						t.Fatal(err)
					}
				}
				return errSevered
			},
			func(context.Context) error { undone = true; return nil })
		if undone != erased || errors.Is(err, streamwatch.ErrErasing) != erased || !errors.Is(err, errSevered) {
			t.Errorf("erased = %t: undone = %t, error %v", erased, undone, err)
		}
	}
}
