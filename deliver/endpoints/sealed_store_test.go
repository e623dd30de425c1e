package endpoints_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/sqlite"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

func seal(t testing.TB, es deliver.EndpointStore, keys ...endpoints.SealKey) *endpoints.SealedStore {
	t.Helper()
	sealer, err := endpoints.NewAESSealer(keys...)
	if err != nil {
		t.Fatal(err)
	}
	s, err := endpoints.NewSealedStore(es, sealer)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// sealedStorage is a store whose endpoints are sealed.
type sealedStorage struct {
	storage.Store
	endpoints deliver.EndpointStore
}

func (s sealedStorage) Endpoints() deliver.EndpointStore { return s.endpoints }

// A sealed store keeps the contract of the port.
func TestSealedStoreConformance(t *testing.T) {
	clock := storetest.NewClock()
	storetest.TestStore(t, storetest.Kit{
		Open: func(t testing.TB) storage.Store {
			s := memory.New(memory.Options{Now: clock.Now})
			return sealedStorage{s, seal(t, s.Endpoints(), sealKey("k1", 'a'))}
		},
		Clock: clock,
	})
}

const (
	canary1 = "canary-1-the-first-secret-of-all"
	canary2 = "canary-2-the-second-secret-of-all"
	canary3 = "canary-3-qzxwvk-plover"
)

// withCanaries creates an endpoint with a secret, an old one and a header.
func withCanaries(t *testing.T, es deliver.EndpointStore, id string) deliver.Endpoint {
	t.Helper()
	e := deliver.Endpoint{ID: id, Source: src(id), URL: "https://h.example.com/", Status: deliver.EndpointActive, Secret: canary2,
		OldSecrets: []deliver.OldSecret{{Secret: canary1, Until: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}},
		Headers:    []deliver.Header{{Name: "Authorization", Value: canary3}}}
	if err := es.Create(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	return e
}

// No file of the store has a secret in it, in whatever way it may be written.
func TestSealedStoreHoldsNoPlainSecret(t *testing.T) {
	for name, sealed := range map[string]bool{"sealed": true, "in plain, so that the search is known to find": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := sqlite.Open(t.Context(), filepath.Join(dir, "test.db"), sqlite.Options{})
			if err != nil {
				t.Fatal(err)
			}
			var es deliver.EndpointStore = s.Endpoints()
			if sealed {
				es = seal(t, es, sealKey("k1", 'a'))
			}
			b := newBench(t, nil, func(c *dispatch.Config) { c.Endpoints = es })
			m, err := endpoints.New(endpoints.Config{Store: es, Dispatcher: b.d})
			if err != nil {
				t.Fatal(err)
			}
			e, err := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("a"), URL: "https://h.example.com/", Secret: canary1,
				Headers: []deliver.Header{{Name: "Authorization", Value: canary3}}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Update(t.Context(), "o", e.ID, endpoints.Update{Secret: ptr(deliver.Secret(canary2))}); err != nil {
				t.Fatal(err)
			}
			generated, err := m.RotateSecret(t.Context(), "o", e.ID)
			if err != nil {
				t.Fatal(err)
			}
			if got, err := es.Get(t.Context(), "o", e.ID); err != nil || got.Secret != generated.Secret || got.OldSecrets[1].Secret != canary1 || got.Headers[0].Value != canary3 {
				t.Errorf("Get: %v", err)
			}
			found := plainIn(t, dir, canary1, canary2, canary3, string(generated.Secret)) // with the log of the open store
			if err := s.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			found += plainIn(t, dir, canary1, canary2, canary3, string(generated.Secret))
			if (found == 0) != sealed {
				t.Errorf("%d plain secrets in the store's files", found)
			}
		})
	}
}

func plainIn(t *testing.T, dir string, canaries ...string) (n int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range canaries {
			for _, form := range []string{c, hex.EncodeToString([]byte(c)), base64.RawStdEncoding.EncodeToString([]byte(c)), c[len(c)/2:]} {
				if bytes.Contains(data, []byte(form)) {
					n++
				}
			}
		}
	}
	return n
}

// A row that is not its own does not open, and says where the fault is.
func TestSealedStoreRefusesOtherRows(t *testing.T) {
	for _, row := range []struct {
		name  string
		spoil func(e *deliver.Endpoint, other deliver.Endpoint)
		field string
	}{
		{"the secret of another endpoint", func(e *deliver.Endpoint, o deliver.Endpoint) { e.Secret = o.Secret }, "secret"},
		{"an old secret of another endpoint", func(e *deliver.Endpoint, o deliver.Endpoint) { e.OldSecrets = o.OldSecrets }, "old secret"},
		{"a header of another endpoint", func(e *deliver.Endpoint, o deliver.Endpoint) { e.Headers = o.Headers }, "header Authorization"},
		{"an old secret for the secret", func(e *deliver.Endpoint, _ deliver.Endpoint) { e.Secret = e.OldSecrets[0].Secret }, "secret"},
		{"the secret for a header", func(e *deliver.Endpoint, _ deliver.Endpoint) { e.Headers[0].Value = e.Secret }, "header Authorization"},
		{"a header under another name", func(e *deliver.Endpoint, _ deliver.Endpoint) { e.Headers[0].Name = "X-Shown" }, "header X-Shown"},
		{"a secret in plain", func(e *deliver.Endpoint, _ deliver.Endpoint) { e.Secret = canary1 }, "secret"},
		{"no secret", func(e *deliver.Endpoint, _ deliver.Endpoint) { e.Secret = "" }, "secret"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			raw := b.store.Endpoints()
			s := seal(t, raw, sealKey("k1", 'a'))
			withCanaries(t, s, "a")
			withCanaries(t, s, "b")
			e, _ := raw.Get(t.Context(), "o", "a")
			other, _ := raw.Get(t.Context(), "o", "b")
			row.spoil(&e, other)
			if err := raw.Update(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			got, err := s.Get(t.Context(), "o", "a")
			if !errors.Is(err, deliver.ErrSealed) || got.ID != "" || !strings.Contains(err.Error(), row.field+` of endpoint "a"`) || strings.Contains(err.Error(), "canary") {
				t.Errorf("Get: %v", err)
			}
			list, err := s.List(t.Context(), "o", "")
			if !errors.Is(err, deliver.ErrSealed) || len(list) != 2 || list[0].ID != "a" || list[0].Secret != "" || list[0].Headers[0].Value != "" || list[1].Secret != canary2 {
				t.Errorf("List has to show both, the first without secrets: %+v, %v", list, err)
			}
			m, err := endpoints.New(endpoints.Config{Store: s, Dispatcher: b.d})
			if err != nil {
				t.Fatal(err)
			}
			if list, err := m.List(t.Context(), "o", ""); err != nil || len(list) != 2 {
				t.Errorf("the manager's List: %v, %v", list, err)
			}
			if got, err := m.Get(t.Context(), "o", "a"); err != nil || got.ID != "a" || got.Secret != "" || got.Headers[0].Value != "" {
				t.Errorf("the manager's Get has to show it without secrets: %+v, %v", got, err)
			}
			if _, err := m.RotateSecret(t.Context(), "o", "a"); !errors.Is(err, deliver.ErrSealed) {
				t.Errorf("RotateSecret: %v", err)
			}
			if err := m.Delete(t.Context(), "o", "a"); err != nil {
				t.Errorf("Delete: %v", err)
			}
		})
	}
}

// The way from no encryption over one key to the next.
func TestReseal(t *testing.T) {
	raw := memory.New(memory.Options{}).Endpoints()
	want := withCanaries(t, raw, "plain")
	k1, k2 := sealKey("k1", 'a'), sealKey("k2", 'b')
	opens := func(s *endpoints.SealedStore, ids ...string) {
		t.Helper()
		for _, id := range ids {
			if e, err := s.Get(t.Context(), "o", id); err != nil || e.Secret != want.Secret || e.OldSecrets[0].Secret != canary1 || e.Headers[0].Value != canary3 {
				t.Errorf("%s does not open: %v", id, err)
			}
		}
	}
	first := seal(t, raw, k1)
	withCanaries(t, first, "one")
	if _, err := first.Get(t.Context(), "o", "plain"); !errors.Is(err, deliver.ErrSealed) || !strings.Contains(err.Error(), "Reseal") {
		t.Errorf("a plain row: %v", err)
	}
	if n, err := first.Reseal(t.Context(), "o"); n != 2 || err != nil {
		t.Fatalf("Reseal: %d, %v", n, err)
	}
	opens(first, "plain", "one")

	both := seal(t, raw, k2, k1)
	withCanaries(t, both, "two")
	opens(both, "plain", "one", "two")
	if _, err := first.Get(t.Context(), "o", "two"); !errors.Is(err, deliver.ErrSealed) {
		t.Errorf("sealed with the new key, opened with the old: %v", err)
	}
	if n, err := both.Reseal(t.Context(), "o"); n != 3 || err != nil {
		t.Fatalf("Reseal: %d, %v", n, err)
	}
	last := seal(t, raw, k2)
	opens(last, "plain", "one", "two")
	if n, err := last.Reseal(t.Context(), "stranger"); n != 0 || err != nil {
		t.Errorf("of an owner without endpoints: %d, %v", n, err)
	}

	withCanaries(t, first, "lost")
	n, err := last.Reseal(t.Context(), "o")
	if n != 3 || !errors.Is(err, deliver.ErrSealed) || !strings.Contains(err.Error(), `"lost"`) {
		t.Errorf("with one whose key is gone: %d, %v", n, err)
	}
	opens(last, "plain", "one", "two")
	opens(first, "lost")
}

// A change that is made while Reseal is at it stays.
func TestResealMeetsAChange(t *testing.T) {
	raw := memory.New(memory.Options{}).Endpoints()
	s := seal(t, raw, sealKey("k1", 'a'))
	withCanaries(t, s, "a")
	meddler := seal(t, meddling{raw, func() {
		e, _ := s.Get(t.Context(), "o", "a")
		if e.URL = "https://moved.example.com/"; s.Update(t.Context(), e) != nil {
			t.Error("the change failed")
		}
	}}, sealKey("k2", 'b'), sealKey("k1", 'a'))
	if n, err := meddler.Reseal(t.Context(), "o"); n != 1 || err != nil {
		t.Fatalf("Reseal: %d, %v", n, err)
	}
	if e, err := seal(t, raw, sealKey("k2", 'b')).Get(t.Context(), "o", "a"); err != nil || e.URL != "https://moved.example.com/" || e.Secret != canary2 {
		t.Errorf("%+v, %v", e, err)
	}
}

// meddling changes an endpoint after it was listed.
type meddling struct {
	deliver.EndpointStore
	change func()
}

func (m meddling) List(ctx context.Context, owner, sourceID string) ([]deliver.Endpoint, error) {
	list, err := m.EndpointStore.List(ctx, owner, sourceID)
	m.change()
	return list, err
}

// outage is a sealer whose key service is down.
type outage struct{ giveUp func() }

var errOutage = errors.New("no key service")

func (outage) Seal(context.Context, []byte, string) (string, error) { return "", errOutage }
func (o outage) Open(context.Context, string, string) ([]byte, error) {
	if o.giveUp != nil {
		o.giveUp()
	}
	return nil, errOutage
}

func TestSealedStoreWithoutItsSealer(t *testing.T) {
	raw := memory.New(memory.Options{}).Endpoints()
	withCanaries(t, seal(t, raw, sealKey("k1", 'a')), "a")
	s, err := endpoints.NewSealedStore(raw, outage{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Create(t.Context(), deliver.Endpoint{ID: "b", Source: src("b"), Secret: canary1}); !errors.Is(err, errOutage) || errors.Is(err, deliver.ErrSealed) {
		t.Errorf("Create: %v", err)
	}
	if _, err = raw.Get(t.Context(), "o", "b"); !errors.Is(err, deliver.ErrEndpointNotFound) {
		t.Error("an endpoint that could not be sealed was stored")
	}
	if _, err := s.Get(t.Context(), "o", "a"); !errors.Is(err, errOutage) || !errors.Is(err, deliver.ErrSealed) {
		t.Errorf("Get: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if s, err = endpoints.NewSealedStore(raw, outage{cancel}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, "o", "a"); !errors.Is(err, context.Canceled) || errors.Is(err, deliver.ErrSealed) {
		t.Errorf("Get by a caller that gave up: %v", err)
	}
	for _, c := range []struct {
		es     deliver.EndpointStore
		sealer endpoints.Sealer
	}{{nil, outage{}}, {raw, nil}} {
		if _, err := endpoints.NewSealedStore(c.es, c.sealer); err == nil {
			t.Error("a sealed store without a part must be refused")
		}
	}
}
