package endpoints_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/record"
)

func seal(t testing.TB, records record.Store, keys ...endpoints.SealKey) *endpoints.Store {
	t.Helper()
	sealer, err := endpoints.NewAESSealer(keys...)
	if err != nil {
		t.Fatal(err)
	}
	return endpoints.NewStore(records, sealer)
}

const (
	canary1 = "canary-1-the-first-secret-of-all"
	canary2 = "canary-2-the-second-secret-of-all"
	canary3 = "canary-3-qzxwvk-plover"
)

// withCanaries stores an endpoint with a secret, an old one and a header.
func withCanaries(t *testing.T, b *bench, s *endpoints.Store, id string) deliver.Endpoint {
	t.Helper()
	e := deliver.Endpoint{ID: id, Source: src(id), URL: "https://h.example.com/", Status: deliver.EndpointActive, Secret: canary2,
		OldSecrets: []deliver.OldSecret{{Secret: canary1, Until: time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)}},
		Headers:    []deliver.Header{{Name: "Authorization", Value: canary3}}, Version: 1}
	if err := b.stored().Create(t.Context(), deliver.Endpoint{ID: id, Source: e.Source, URL: e.URL}); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	e.Version++
	return e
}

// What a Store reads is what was stored, with a Sealer and without, and its errors are those about
// endpoints.
func TestStore(t *testing.T) {
	for name, sealer := range map[string]endpoints.Sealer{"plain": nil, "sealed": newSealer(t, sealKey("k1", 'a'))} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, nil, nil)
			s := endpoints.NewStore(b.store.Ports().Records, sealer)
			var want []deliver.Endpoint
			for _, id := range []string{"b", "a"} {
				want = append(want, withCanaries(t, b, s, id))
			}
			list, err := s.List(t.Context(), "o", record.Key{})
			if err != nil || len(list) != 2 || !sameEndpoint(list[0], want[0]) || !sameEndpoint(list[1], want[1]) {
				t.Errorf("List: %+v, %v; want %+v", list, err, want)
			}
			list, err = s.List(t.Context(), "o", monitorKey("a"))
			if err != nil || len(list) != 1 || !sameEndpoint(list[0], want[1]) {
				t.Errorf("List of a source: %+v, %v", list, err)
			}
			if list, err := s.List(t.Context(), "thief", record.Key{}); err != nil || len(list) != 0 {
				t.Errorf("List of another owner: %+v, %v", list, err)
			}
			list = nil
			err = s.Scan(t.Context(), func(e deliver.Endpoint) error { list = append(list, e); return nil })
			if err != nil || len(list) != 2 || !sameEndpoint(list[0], want[0]) {
				t.Errorf("Scan: %+v, %v", list, err)
			}
			errStop := errors.New("stop")
			if err := s.Scan(t.Context(), func(deliver.Endpoint) error { return errStop }); err != errStop {
				t.Errorf("Scan that is stopped: %v", err)
			}

			failing := want[0]
			failing.FailingSince = time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC)
			if err := s.SetFailing(t.Context(), failing); err != nil {
				t.Fatal(err)
			}
			if got, err := s.Get(t.Context(), "o", "b"); err != nil || !sameEndpoint(got, failing) {
				t.Errorf("Get after SetFailing: %+v, %v; want %+v", got, err, failing)
			}
			changed := failing
			changed.Limits.Burst, changed.FailingSince = 3, time.Time{}
			if err := s.Update(t.Context(), changed); err != nil {
				t.Fatal(err)
			}
			changed.Version++
			changed.FailingSince = failing.FailingSince // Update keeps it
			if got, err := s.Get(t.Context(), "o", "b"); err != nil || !sameEndpoint(got, changed) {
				t.Errorf("Get after Update: %+v, %v; want %+v", got, err, changed)
			}

			unknown := changed
			unknown.ID = "none"
			taken := want[1]
			taken.URL = "https://taken.example.com/"
			if err := b.stored().Create(t.Context(), deliver.Endpoint{ID: "beside", Source: src("a"), URL: taken.URL}); err != nil {
				t.Fatal(err)
			}
			for call, row := range map[string]struct{ got, want error }{
				"Get of an unknown one":         {second(s.Get(t.Context(), "o", "none")), deliver.ErrEndpointNotFound},
				"Get of another owner's":        {second(s.Get(t.Context(), "thief", "a")), deliver.ErrEndpointNotFound},
				"Update of an unknown one":      {s.Update(t.Context(), unknown), deliver.ErrEndpointNotFound},
				"Update of version 0":           {s.Update(t.Context(), deliver.Endpoint{ID: "new", Source: src("a"), URL: "https://new.example.com/"}), deliver.ErrEndpointConflict},
				"Update of an old version":      {s.Update(t.Context(), failing), deliver.ErrEndpointConflict},
				"Update to a URL that is taken": {s.Update(t.Context(), taken), deliver.ErrEndpointDuplicate},
				"SetFailing of an unknown one":  {s.SetFailing(t.Context(), unknown), deliver.ErrEndpointNotFound},
				"SetFailing of an old version":  {s.SetFailing(t.Context(), failing), deliver.ErrEndpointConflict},
			} {
				if row.got != row.want {
					t.Errorf("%s: %v, want %v", call, row.got, row.want)
				}
			}
		})
	}
}

// An endpoint that cannot be decoded hides no other.
func TestStoreReadsOthers(t *testing.T) {
	b := newBench(t, nil, nil)
	records := b.store.Ports().Records
	if err := b.stored().Create(t.Context(), deliver.Endpoint{ID: "good", Source: src("a"), URL: "https://h.example.com/", Secret: canary1}); err != nil {
		t.Fatal(err)
	}
	bad := record.Record{Key: record.Key{Kind: record.Endpoint, ID: "bad"}, Owner: "o", Parent: monitorKey("a"), Name: "https://b.example.com/", Data: []byte("{")}
	if _, err := records.Apply(t.Context(), record.Change{Put: []record.Record{bad}}); err != nil {
		t.Fatal(err)
	}
	ids := ""
	err := endpoints.NewStore(records, nil).Scan(t.Context(), func(e deliver.Endpoint) error { ids += e.ID + " "; return nil })
	if ids != "good bad " || !errors.Is(err, deliver.ErrSealed) || !strings.Contains(err.Error(), "bad") {
		t.Errorf("Scan of %q, %v", ids, err)
	}
	sealed, err := b.manager(nil).Sealed(t.Context())
	if err != nil || len(sealed) != 1 || sealed[0].ID != "bad" {
		t.Errorf("Sealed: %v, %v", sealed, err)
	}
}

// A value that is not its own does not open. The error says where the fault is, and the endpoint is
// shown without secrets, so that it can be found and deleted.
func TestStoreRefusesOtherValues(t *testing.T) {
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
			s := seal(t, b.store.Ports().Records, sealKey("k1", 'a'))
			withCanaries(t, b, s, "a")
			withCanaries(t, b, s, "b")
			e := b.get("a")
			row.spoil(&e, b.get("b"))
			if err := b.stored().Update(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			hidden := func(e deliver.Endpoint) bool { return e.ID == "a" && e.Secret == "" && e.Headers[0].Value == "" }
			got, err := s.Get(t.Context(), "o", "a")
			if !errors.Is(err, deliver.ErrSealed) || !hidden(got) || !strings.Contains(err.Error(), row.field+` of endpoint "a"`) || strings.Contains(err.Error(), "canary") {
				t.Errorf("Get: %v", err)
			}
			list, err := s.List(t.Context(), "o", record.Key{})
			if !errors.Is(err, deliver.ErrSealed) || len(list) != 2 || !hidden(list[0]) || list[1].Secret != canary2 {
				t.Errorf("List has to show both, the first without secrets: %+v, %v", list, err)
			}
			m := b.manager(func(c *endpoints.Config) { c.Store = s })
			if list, err := m.Sealed(t.Context()); err != nil || len(list) != 1 || !hidden(list[0]) {
				t.Errorf("the manager's Sealed has to show the first: %+v, %v", list, err)
			}
			if list, err := m.List(t.Context(), "o", ""); err != nil || len(list) != 2 {
				t.Errorf("the manager's List: %v, %v", list, err)
			}
			if got, err := m.Get(t.Context(), "o", "a"); err != nil || !hidden(got) {
				t.Errorf("the manager's Get has to show it without secrets: %+v, %v", got, err)
			}
			if _, err := m.RotateSecret(t.Context(), "o", "a"); !errors.Is(err, deliver.ErrSealed) {
				t.Errorf("RotateSecret: %v", err)
			}
			if err := m.DeleteVersion(t.Context(), "o", "a", 3); err != nil {
				t.Errorf("DeleteVersion: %v", err)
			}
		})
	}
}

// The way from no encryption over one key to the next.
func TestReseal(t *testing.T) {
	b := newBench(t, nil, nil)
	records := b.store.Ports().Records
	plain := endpoints.NewStore(records, nil)
	want := withCanaries(t, b, plain, "plain")
	k1, k2 := sealKey("k1", 'a'), sealKey("k2", 'b')
	opens := func(s *endpoints.Store, ids ...string) {
		t.Helper()
		for _, id := range ids {
			if e, err := s.Get(t.Context(), "o", id); err != nil || e.Secret != want.Secret || e.OldSecrets[0].Secret != canary1 || e.Headers[0].Value != canary3 {
				t.Errorf("%s does not open: %v", id, err)
			}
		}
	}
	first := seal(t, records, k1)
	withCanaries(t, b, first, "one")
	if _, err := first.Get(t.Context(), "o", "plain"); !errors.Is(err, deliver.ErrSealed) || !strings.Contains(err.Error(), "Reseal") {
		t.Errorf("a plain secret: %v", err)
	}
	if n, err := first.Reseal(t.Context(), "o"); n != 2 || err != nil {
		t.Fatalf("Reseal: %d, %v", n, err)
	}
	opens(first, "plain", "one")

	both := seal(t, records, k2, k1)
	withCanaries(t, b, both, "two")
	opens(both, "plain", "one", "two")
	if _, err := first.Get(t.Context(), "o", "two"); !errors.Is(err, deliver.ErrSealed) {
		t.Errorf("sealed with the new key, opened with the old: %v", err)
	}
	if n, err := both.Reseal(t.Context(), "o"); n != 3 || err != nil {
		t.Fatalf("Reseal: %d, %v", n, err)
	}
	last := seal(t, records, k2)
	opens(last, "plain", "one", "two")
	if n, err := last.Reseal(t.Context(), "stranger"); n != 0 || err != nil {
		t.Errorf("of an owner without endpoints: %d, %v", n, err)
	}

	withCanaries(t, b, first, "lost")
	n, err := last.Reseal(t.Context(), "o")
	if n != 3 || !errors.Is(err, deliver.ErrSealed) || !strings.Contains(err.Error(), `"lost"`) {
		t.Errorf("with one whose key is gone: %d, %v", n, err)
	}
	opens(last, "plain", "one", "two")
	opens(first, "lost")
}

// A change that is made during Reseal stays, and so does a deletion.
func TestResealBesideAnotherChange(t *testing.T) {
	k1, k2 := sealKey("k1", 'a'), sealKey("k2", 'b')
	for _, row := range []struct {
		name   string
		change func(ctx context.Context, b *bench, s *endpoints.Store) error
		n      int
		url    string
	}{
		{"another URL", func(ctx context.Context, _ *bench, s *endpoints.Store) error {
			e, err := s.Get(ctx, "o", "a")
			if e.URL = "https://moved.example.com/"; err != nil {
				return err
			}
			return s.Update(ctx, e)
		}, 1, "https://moved.example.com/"},
		{"deletion", func(ctx context.Context, b *bench, _ *endpoints.Store) error { return b.stored().Delete(ctx, "o", "a") }, 0, ""},
	} {
		b := newBench(t, nil, nil)
		s := seal(t, b.store.Ports().Records, k1)
		withCanaries(t, b, s, "a")
		changed := false
		meddler := seal(t, meddled{b.store.Ports().Records, func(ctx context.Context) error {
			if changed {
				return nil
			}
			changed = true
			return row.change(ctx, b, s)
		}}, k2, k1)
		if n, err := meddler.Reseal(t.Context(), "o"); n != row.n || err != nil {
			t.Fatalf("%s during Reseal: %d, %v; want %d", row.name, n, err, row.n)
		}
		e, err := seal(t, b.store.Ports().Records, k2).Get(t.Context(), "o", "a")
		if e.URL != row.url || row.n == 1 && (err != nil || e.Secret != canary2) {
			t.Errorf("%s during Reseal: %+v, %v", row.name, e, err)
		}
	}
}

// broken is a Sealer whose methods do what they are told to.
type broken struct{ do func(value string) error }

func (s broken) Seal(_ context.Context, plain []byte, _ string) (string, error) {
	return "", s.do(string(plain))
}
func (s broken) Open(_ context.Context, sealed, _ string) ([]byte, error) {
	return nil, s.do(sealed)
}

// A Sealer that fails or panics fails the call: nothing is stored, and no error shows a secret.
func TestStoreWhoseSealerFails(t *testing.T) {
	for name, row := range map[string]struct {
		do   func(string) error
		want string
	}{
		"no answer": {func(string) error { return errors.New("no key service") }, "no key service"},
		"a panic":   {func(value string) error { panic(value) }, "the Sealer panicked"},
	} {
		b := newBench(t, nil, nil)
		e := withCanaries(t, b, seal(t, b.store.Ports().Records, sealKey("k1", 'a')), "a")
		stored := b.get("a")
		s := endpoints.NewStore(b.store.Ports().Records, broken{row.do})
		m := b.manager(func(c *endpoints.Config) { c.Store = s })
		_, opening := s.Get(t.Context(), "o", "a")
		_, creating := m.Create(t.Context(), endpoints.NewEndpoint{Source: src("b"), URL: "https://h.example.com/", Secret: canary1})
		for call, err := range map[string]error{"Get": opening, "Update": s.Update(t.Context(), e), "Create": creating} {
			if err == nil || !strings.Contains(err.Error(), row.want) || strings.Contains(err.Error(), "canary") || errors.Is(err, deliver.ErrSealed) != (call == "Get") {
				t.Errorf("%s: %s: %v", name, call, err)
			}
		}
		if list, err := m.List(t.Context(), "o", ""); err != nil || len(list) != 1 || !sameEndpoint(b.get("a"), stored) {
			t.Errorf("%s: an endpoint that could not be sealed was stored: %+v, %v", name, list, err)
		}
	}
	b := newBench(t, nil, nil)
	withCanaries(t, b, seal(t, b.store.Ports().Records, sealKey("k1", 'a')), "a")
	ctx, cancel := context.WithCancel(t.Context())
	s := endpoints.NewStore(b.store.Ports().Records, broken{func(string) error { cancel(); return errors.New("no key service") }})
	if _, err := s.Get(ctx, "o", "a"); !errors.Is(err, context.Canceled) || errors.Is(err, deliver.ErrSealed) {
		t.Errorf("Get by a caller that gave up: %v", err)
	}
}
