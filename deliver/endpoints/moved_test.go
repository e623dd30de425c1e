package endpoints_test

import (
	"context"
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
