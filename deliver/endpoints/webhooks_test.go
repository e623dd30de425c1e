package endpoints_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// The record of a new endpoint is stored with its monitor or rule by whoever asks for it. Its secret
// is returned if it was generated, and is nowhere to be read with a Sealer.
func TestWebhooksNew(t *testing.T) {
	for _, kind := range []record.Kind{record.Monitor, record.Rule} {
		for _, key := range []deliver.Secret{"", secret} {
			for _, sealed := range []bool{false, true} {
				b := newBench(t, nil, nil)
				store := endpoints.NewStore(b.store.Ports().Records, nil)
				if sealed {
					store = seal(t, b.store.Ports().Records, sealKey("k1", 'a'))
				}
				m := b.manager(func(c *endpoints.Config) { c.Store = store })
				source := record.Record{Key: record.Key{Kind: kind, ID: "s"}, Owner: "o", Name: "space"}
				ep, generated, err := m.Webhooks().New(t.Context(), source, "https://h.example.com/", control.Webhook{Secret: key, Limits: deliver.Limits{Rate: 2}})
				if err != nil || (generated == "") != (key != "") {
					t.Fatalf("New: generated %d characters, %v", len(generated), err)
				}
				want := key + generated
				if strings.Contains(string(ep.Data), string(want)) == sealed {
					t.Errorf("sealed %v: data %q", sealed, ep.Data)
				}
				if _, err := b.store.Ports().Records.Apply(t.Context(), record.Change{Put: []record.Record{source, ep}}); err != nil {
					t.Fatal(err)
				}
				e, err := store.Get(t.Context(), "o", ep.ID)
				if err != nil || e.Source != (deliver.Source{Kind: deliver.SourceKind(kind), ID: "s", Owner: "o", Name: "space"}) || e.URL != "https://h.example.com/" ||
					e.Secret != want || e.Limits.Rate != 2 || e.Status != deliver.EndpointActive || !strings.HasPrefix(e.ID, "whk_") || e.StatusSince.IsZero() || !e.CreatedAt.Equal(e.UpdatedAt) {
					t.Errorf("stored %+v, %v", e, err)
				}
			}
		}
	}
}

// A change of webhook_url or its secret is that of the endpoint by Update.
func TestWebhooksChange(t *testing.T) {
	const old, another = "https://a.example.com/", "https://b.example.com/"
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, row := range []struct {
		name, url string
		key       deliver.Secret
		want      func(*deliver.Endpoint)
	}{
		{"nothing", old, "", func(*deliver.Endpoint) {}},
		{"another URL", another, "", func(e *deliver.Endpoint) { e.URL = another }},
		{"another secret", old, secret, func(e *deliver.Endpoint) {
			e.Secret, e.OldSecrets = secret, []deliver.OldSecret{{Secret: e.Secret, Until: now.Add(endpoints.DefaultOverlap)}}
		}},
		{"both: another receiver", another, secret, func(e *deliver.Endpoint) { e.URL, e.Secret = another, secret }},
	} {
		b := newBench(t, nil, nil)
		b.endpoint("a")
		e := b.get("a")
		e.OldSecrets = []deliver.OldSecret{{Secret: "of a rotation that has ended", Until: now}} // every change drops it
		if err := b.stored().Update(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		store := seal(t, b.store.Ports().Records, sealKey("k1", 'a'))
		if _, err := store.Reseal(t.Context(), "o"); err != nil {
			t.Fatal(err)
		}
		want, err := store.Get(t.Context(), "o", "a")
		if err != nil {
			t.Fatal(err)
		}
		want.OldSecrets = nil
		row.want(&want)
		want.UpdatedAt = now
		ep, err := b.store.Ports().Records.Get(t.Context(), "o", record.Key{Kind: record.Endpoint, ID: "a"})
		if err != nil {
			t.Fatal(err)
		}
		tune := func(s *endpoints.Store) func(*endpoints.Config) {
			return func(c *endpoints.Config) { c.Store, c.Now = s, func() time.Time { return now } }
		}
		changed, err := b.manager(tune(store)).Webhooks().Change(t.Context(), ep, row.url, row.key)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := b.store.Ports().Records.Apply(t.Context(), record.Change{Put: []record.Record{changed}}); err != nil {
			t.Fatal(err)
		}
		want.Version++
		has, _ := b.manager(tune(store)).Webhooks().Has(t.Context(), changed, secret)
		if got, err := store.Get(t.Context(), "o", "a"); err != nil || !sameEndpoint(got, want) || has != (row.key == secret) {
			t.Errorf("%s: %+v, %v; want %+v", row.name, got, err, want)
		}
		for name, s := range map[string]*endpoints.Store{"another key": seal(t, b.store.Ports().Records, sealKey("k2", 'b')), "no key": endpoints.NewStore(b.store.Ports().Records, nil)} {
			w := b.manager(tune(s)).Webhooks()
			_, err := w.Change(t.Context(), ep, row.url, row.key)
			if _, has := w.Has(t.Context(), ep, row.key); !errors.Is(err, deliver.ErrSealed) || !errors.Is(has, deliver.ErrSealed) {
				t.Errorf("%s, %s: %v, %v, want ErrSealed", row.name, name, err, has)
			}
		}
	}
}

// Errors about an endpoint have the names that they have from the Manager.
func TestWebhooksError(t *testing.T) {
	w := newBench(t, nil, nil).manager(nil).Webhooks()
	other := errors.New("disk full")
	for is, want := range map[error]error{
		record.ErrNotFound: deliver.ErrEndpointNotFound, record.ErrDuplicate: deliver.ErrEndpointDuplicate, record.ErrConflict: deliver.ErrEndpointConflict,
		other: other, nil: nil,
	} {
		if got := w.Error(is); got != want {
			t.Errorf("%v is shown as %v, want %v", is, got, want)
		}
	}
	if got := w.Error(&record.Error{Err: record.ErrConflict}); got != deliver.ErrEndpointConflict {
		t.Errorf("an *Error is shown as %v", got)
	}
}
