package apikey_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/storetest"
)

// records is a store that counts look-ups and lets a test act between calls.
type records struct {
	record.Store
	finds  atomic.Int64
	found  func()       // called when a look-up has read; nil for nothing
	before func() error // called before Apply, which returns its error; nil for nothing
}

func (r *records) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	r.finds.Add(1)
	found, err := r.Store.Find(ctx, k, lookup)
	if r.found != nil {
		r.found()
	}
	return found, err
}

func (r *records) Apply(ctx context.Context, c record.Change) (uint64, error) {
	if r.before != nil {
		if err := r.before(); err != nil {
			return 0, err
		}
	}
	return r.Store.Apply(ctx, c)
}

// office is a manager, and another on the same store, as on another machine. Their clock stands
// still.
type office struct {
	*apikey.Manager
	other   *apikey.Manager // its calls go past the hooks of records
	records *records
	clock   *storetest.Clock
}

func newOffice(t testing.TB, maxKeys int) *office {
	t.Helper()
	o := &office{clock: storetest.NewClock()}
	o.records = &records{Store: memory.New(memory.Options{Now: o.clock.Now}).Ports().Records}
	o.Manager = manager(t, apikey.Config{Records: o.records, MaxKeys: maxKeys, Now: o.clock.Now})
	o.other = manager(t, apikey.Config{Records: o.records.Store, MaxKeys: maxKeys, Now: o.clock.Now})
	return o
}

func manager(t testing.TB, c apikey.Config) *apikey.Manager {
	t.Helper()
	m, err := apikey.NewManager(c)
	must(t, err)
	return m
}

// issue issues a key of acme.
func issue(t testing.TB, m *apikey.Manager) apikey.Issued {
	t.Helper()
	k, err := m.Issue(t.Context(), apikey.IssueRequest{Owner: "acme", Name: "production"})
	must(t, err)
	return k
}

func revoke(t testing.TB, m *apikey.Manager, id string) apikey.Key {
	t.Helper()
	k, err := m.Revoke(t.Context(), "acme", id)
	must(t, err)
	return k
}

func list(t testing.TB, m *apikey.Manager) []apikey.Key {
	t.Helper()
	keys, err := m.List(t.Context(), "acme")
	must(t, err)
	return keys
}

func wantValid(t testing.TB, m *apikey.Manager, key secret.Value) {
	t.Helper()
	if _, err := m.Authenticate(t.Context(), key); err != nil {
		t.Errorf("Authenticate: %v, want the key to be valid", err)
	}
}

func wantInvalid(t testing.TB, m *apikey.Manager, key secret.Value, text string) {
	t.Helper()
	if p, err := m.Authenticate(t.Context(), key); !errors.Is(err, apikey.ErrInvalid) || p != (apikey.Principal{}) {
		t.Errorf("%s: Authenticate: %+v, %v, want ErrInvalid", text, p, err)
	}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
