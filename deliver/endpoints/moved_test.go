package endpoints_test

import (
	"context"
	"errors"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/record"
)

// The monitor or rule that shows the URL of an endpoint is stored in the same change: it shows the
// URL that the endpoint has, "" if there is none, whatever else happens meanwhile. Here the Data of
// monitor a is that URL.
func TestSourceMovesWithItsEndpoint(t *testing.T) {
	const old, another = "https://a.example.com/", "https://b.example.com/"
	errMoved := errors.New("no answer")
	move := endpoints.Update{URL: ptr(another)}
	remove := func(ctx context.Context, m *endpoints.Manager) error { return m.Delete(ctx, "o", "a") }
	changeEndpoint := func(ctx context.Context, b *bench) error {
		e, err := b.stored().Get(ctx, "o", "a")
		e.Limits.Burst++
		if err == nil {
			err = b.stored().Update(ctx, e)
		}
		return err
	}
	changeSource := func(ctx context.Context, b *bench) error {
		r, err := b.store.Ports().Records.Get(ctx, "o", monitorKey("a"))
		r.Name += "'"
		if err == nil {
			_, err = b.store.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{r}})
		}
		return err
	}
	deleteSource := func(ctx context.Context, b *bench) error {
		_, err := b.store.Ports().Records.Apply(ctx, record.Change{Delete: []record.Ref{{Key: monitorKey("a"), Owner: "o"}}})
		return err
	}
	unrelated := func(c *endpoints.Config) {
		c.Moved = func(context.Context, deliver.Endpoint, string) (record.Record, bool, error) {
			return record.Record{}, false, nil
		}
	}
	fails := func(c *endpoints.Config) {
		c.Moved = func(context.Context, deliver.Endpoint, string) (record.Record, bool, error) {
			return record.Record{}, false, errMoved
		}
	}
	for _, row := range []struct {
		name      string
		do        func(ctx context.Context, m *endpoints.Manager) error
		tune      func(*endpoints.Config)
		meanwhile func(ctx context.Context, b *bench) error
		err       error
		url       string // of the endpoint, "" if there is none
		shown     string // by the monitor
		version   int64  // of the monitor, 0 if there is none
	}{
		{name: "another URL", do: update(move), url: another, shown: another, version: 3},
		{name: "the same URL", do: update(endpoints.Update{URL: ptr(old)}), url: old, shown: old, version: 2},
		{name: "no URL", do: update(endpoints.Update{Paused: ptr(true)}), url: old, shown: old, version: 2},
		{name: "deleted", do: remove, shown: "", version: 3},
		{name: "not the one that is shown, another URL", do: update(move), tune: unrelated, url: another, shown: old, version: 2},
		{name: "not the one that is shown, deleted", do: remove, tune: unrelated, shown: old, version: 2},
		{name: "a taken URL", do: update(endpoints.Update{URL: ptr("https://taken.example.com/")}), err: deliver.ErrEndpointDuplicate, url: old, shown: old, version: 2},
		{name: "the monitor cannot be read, another URL", do: update(move), tune: fails, err: errMoved, url: old, shown: old, version: 2},
		{name: "the monitor cannot be read, deleted", do: remove, tune: fails, err: errMoved, url: old, shown: old, version: 2},
		{name: "another URL, the monitor changes", do: update(move), meanwhile: changeSource, url: another, shown: another, version: 4},
		{name: "another URL of a version, the monitor changes", do: update(endpoints.Update{URL: ptr(another), Version: 1}), meanwhile: changeSource, url: another, shown: another, version: 4},
		{name: "another URL, the endpoint changes", do: update(move), meanwhile: changeEndpoint, url: another, shown: another, version: 3},
		{name: "another URL of a version, the endpoint changes", do: update(endpoints.Update{URL: ptr(another), Version: 1}), meanwhile: changeEndpoint,
			err: deliver.ErrEndpointConflict, url: old, shown: old, version: 2},
		{name: "another URL, the monitor is deleted", do: update(move), meanwhile: deleteSource, err: deliver.ErrEndpointNotFound},
		{name: "deleted, the monitor changes", do: remove, meanwhile: changeSource, shown: "", version: 4},
		{name: "deleted, the endpoint changes", do: remove, meanwhile: changeEndpoint, shown: "", version: 3},
		{name: "deleted, the monitor is deleted", do: remove, meanwhile: deleteSource, err: deliver.ErrEndpointNotFound},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			b.endpoint("a")
			taken := deliver.Endpoint{ID: "taken", Source: src("a"), URL: "https://taken.example.com/", Secret: secret, Status: deliver.EndpointActive}
			if err := b.stored().Create(t.Context(), taken); err != nil {
				t.Fatal(err)
			}
			show := func(ctx context.Context, url string) (record.Record, error) {
				r, err := b.store.Ports().Records.Get(ctx, "o", monitorKey("a"))
				r.Data = []byte(url)
				return r, err
			}
			r, err := show(t.Context(), old)
			if err == nil {
				_, err = b.store.Ports().Records.Apply(t.Context(), record.Change{Put: []record.Record{r}}) // version 2
			}
			if err != nil {
				t.Fatal(err)
			}
			meanwhile := row.meanwhile
			m := b.manager(func(c *endpoints.Config) {
				c.Moved = func(ctx context.Context, e deliver.Endpoint, url string) (record.Record, bool, error) {
					if e.ID != "a" || e.URL != old {
						t.Errorf("asked for endpoint %s with %s, want it as it was", e.ID, e.URL)
					}
					r, err := show(ctx, url)
					if err == nil && meanwhile != nil {
						err = meanwhile(ctx, b)
						meanwhile = nil
					}
					return r, err == nil, err
				}
				if row.tune != nil {
					row.tune(c)
				}
			})
			if err := row.do(t.Context(), m); !errors.Is(err, row.err) || (err == nil) != (row.err == nil) {
				t.Errorf("error %v, want %v", err, row.err)
			}
			e, _ := b.stored().Get(t.Context(), "o", "a")
			r, _ = b.store.Ports().Records.Get(t.Context(), "o", monitorKey("a"))
			if e.URL != row.url || string(r.Data) != row.shown || r.Version != row.version {
				t.Errorf("the endpoint has %q, the monitor of version %d shows %q; want %q, %d and %q", e.URL, r.Version, r.Data, row.url, row.version, row.shown)
			}
		})
	}
}

func monitorKey(id string) record.Key { return record.Key{Kind: record.Monitor, ID: id} }
