package endpoints_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
)

// Whoever is told that an endpoint's URL becomes another is told what became of it
// when the call fails, also beside other calls.
func TestMovedIsToldWhatBecameOfIt(t *testing.T) {
	const url, another = "https://b.example.com/", "https://c.example.com/"
	for _, row := range []struct {
		name      string
		meanwhile func(ctx context.Context, s deliver.EndpointStore) error
		pinned    bool // to the version that it had
		want      []string
	}{
		{"nothing", func(context.Context, deliver.EndpointStore) error { return nil }, true, []string{url}},
		{"deleted", func(ctx context.Context, s deliver.EndpointStore) error { return s.Delete(ctx, "o", "a") }, false, []string{url, ""}},
		{"another change", func(ctx context.Context, s deliver.EndpointStore) error {
			e, err := s.Get(ctx, "o", "a")
			e.URL = another
			if err == nil {
				err = s.Update(ctx, e)
			}
			return err
		}, true, []string{url, another}},
		{"another change to the same", func(ctx context.Context, s deliver.EndpointStore) error {
			e, err := s.Get(ctx, "o", "a")
			e.URL = url
			if err == nil {
				err = s.Update(ctx, e)
			}
			return err
		}, true, []string{url}},
		{"disabled, and so not to be paused", func(ctx context.Context, s deliver.EndpointStore) error {
			e, err := s.Get(ctx, "o", "a")
			e.Status, e.StatusReason, e.StatusSince = deliver.EndpointDisabled, "down", time.Now()
			if err == nil {
				err = s.Update(ctx, e)
			}
			return err
		}, false, []string{url, "https://a.example.com/"}},
	} {
		b := newBench(t, nil, nil)
		b.endpoint("a")
		e, err := b.store.Endpoints().Get(t.Context(), "o", "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.store.Endpoints().Update(t.Context(), e); err != nil { // to version 1
			t.Fatal(err)
		}
		var told []string
		m, err := endpoints.New(endpoints.Config{Store: b.store.Endpoints(), Dispatcher: b.d,
			Moved: func(ctx context.Context, _ deliver.Source, _, to string) (bool, error) {
				if told = append(told, to); len(told) > 1 {
					return true, nil
				}
				return true, row.meanwhile(ctx, b.store.Endpoints())
			}})
		if err != nil {
			t.Fatal(err)
		}
		u := endpoints.Update{URL: ptr(url), Paused: ptr(true)}
		if row.pinned {
			u.Version = e.Version + 1
		}
		_, err = m.Update(t.Context(), "o", "a", u)
		if !slices.Equal(told, row.want) || (err == nil) != (row.name == "nothing") {
			t.Errorf("%s meanwhile: told %q, %v; want %q", row.name, told, err, row.want)
		}
	}
}

// The deletion of a version deletes no later one, which another call makes while the monitor
// is told.
func TestDeleteVersionBesideAnotherChange(t *testing.T) {
	const another = "https://c.example.com/"
	for name, u := range map[string]endpoints.Update{"another URL": {URL: ptr(another)}, "paused": {Paused: ptr(true)}} {
		b := newBench(t, nil, nil)
		b.endpoint("a")
		was, err := b.store.Endpoints().Get(t.Context(), "o", "a")
		if err != nil {
			t.Fatal(err)
		}
		if err := b.store.Endpoints().Update(t.Context(), was); err != nil { // to version 1
			t.Fatal(err)
		}
		cfg := endpoints.Config{Store: b.store.Endpoints(), Dispatcher: b.d}
		other, err := endpoints.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		shown, changed := was.URL, false
		cfg.Moved = func(ctx context.Context, _ deliver.Source, from, to string) (bool, error) {
			shown = to
			if changed {
				return true, nil
			}
			changed = true
			_, err := other.Update(ctx, "o", "a", u)
			return true, err
		}
		m, err := endpoints.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		if err := m.DeleteVersion(t.Context(), "o", "a", was.Version+1); !errors.Is(err, deliver.ErrEndpointConflict) {
			t.Errorf("%s meanwhile: %v, want %v", name, err, deliver.ErrEndpointConflict)
		}
		is, err := b.store.Endpoints().Get(t.Context(), "o", "a")
		if err != nil || shown != is.URL {
			t.Errorf("%s meanwhile: the endpoint has %q, %v; %q is shown", name, is.URL, err, shown)
		}
		if err := m.DeleteVersion(t.Context(), "o", "a", is.Version); err != nil {
			t.Errorf("%s before: %v", name, err)
		}
	}
}

// What shows the URL of an endpoint shows the one that the endpoint has in the end, "" if it
// is gone, also when another call changes it in the middle of a change or a deletion.
func TestURLIsShownAsItIsBesideAnotherChange(t *testing.T) {
	const url, another = "https://b.example.com/", "https://c.example.com/"
	calls := map[string]func(ctx context.Context, m *endpoints.Manager) error{
		"change": func(ctx context.Context, m *endpoints.Manager) error {
			_, err := m.Update(ctx, "o", "a", endpoints.Update{URL: ptr(url)})
			return err
		},
		"deletion": func(ctx context.Context, m *endpoints.Manager) error { return m.Delete(ctx, "o", "a") },
	}
	for call, do := range calls {
		for _, meanwhile := range []string{"a change of the endpoint", "a change of the monitor"} {
			for _, when := range []string{"before", "after"} {
				b := newBench(t, nil, nil)
				b.endpoint("a")
				e, err := b.store.Endpoints().Get(t.Context(), "o", "a")
				if err != nil {
					t.Fatal(err)
				}
				shown, begun := e.URL, false
				cfg := endpoints.Config{Store: b.store.Endpoints(), Dispatcher: b.d}
				bound, err := endpoints.New(cfg)
				if err != nil {
					t.Fatal(err)
				}
				var m *endpoints.Manager
				other := func(ctx context.Context) error {
					if begun {
						return nil
					}
					begun = true
					by := m
					if meanwhile == "a change of the monitor" {
						shown, by = another, bound
					}
					_, err := by.Update(ctx, "o", "a", endpoints.Update{URL: ptr(another)})
					return err
				}
				cfg.Moved = func(ctx context.Context, _ deliver.Source, from, to string) (moved bool, err error) {
					if when == "before" {
						err = other(ctx)
					}
					if shown == from {
						shown, moved = to, true
					}
					if when == "after" {
						err = other(ctx)
					}
					return moved, err
				}
				if m, err = endpoints.New(cfg); err != nil {
					t.Fatal(err)
				}
				if err := do(t.Context(), m); err != nil {
					t.Errorf("%s, %s %s: %v", call, meanwhile, when, err)
				}
				has, err := b.store.Endpoints().Get(t.Context(), "o", "a")
				if errors.Is(err, deliver.ErrEndpointNotFound) {
					err = nil
				}
				if err != nil || shown != has.URL {
					t.Errorf("%s, %s %s: %q is shown, the endpoint has %q, %v", call, meanwhile, when, shown, has.URL, err)
				}
			}
		}
	}
}

// An endpoint whose secret cannot be opened is deleted by its version, too.
func TestDeleteVersionOfASealedEndpoint(t *testing.T) {
	b := newBench(t, nil, nil)
	e := deliver.Endpoint{ID: "a", Source: src("a"), URL: "https://a.example.com/", Secret: deliver.GenerateSecret(), Status: deliver.EndpointActive, CreatedAt: time.Now(), Version: 1}
	if err := seal(t, b.store.Endpoints(), sealKey("k1", 'a')).Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	m, err := endpoints.New(endpoints.Config{Store: seal(t, b.store.Endpoints(), sealKey("k2", 'b')), Dispatcher: b.d})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.DeleteVersion(t.Context(), "o", "a", e.Version); err != nil {
		t.Errorf("deletion of version %d: %v", e.Version, err)
	}
	if _, err := b.store.Endpoints().Get(t.Context(), "o", "a"); !errors.Is(err, deliver.ErrEndpointNotFound) {
		t.Errorf("after it: %v, want %v", err, deliver.ErrEndpointNotFound)
	}
}
