package control_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/secret"
)

// ensure wants an item named a with these values.
func (d *desk) ensure(ctx context.Context, words, url string, key secret.Value) (item, secret.Value, error) {
	return d.Ensure(ctx, item{Owner: "acme", Name: "a", Words: words, URL: url}, "a", control.Webhook{Secret: key}, func(it *item, _ time.Time) error {
		it.Words = words
		return nil
	})
}

// Ensure creates a record, makes it equal, and stores nothing if it is equal.
func TestEnsure(t *testing.T) {
	d := newDesk(t, nil)
	const url, other = "https://h.example.com/", "https://other.example.com/"
	var first item
	for i, row := range []struct {
		name       string
		before     func(id string) error
		words, url string
		key        secret.Value
		generated  secret.Value
		version    int64
		status     control.Status
		secret     string // of the endpoint; "" for no endpoint
	}{
		{"none of the name", nil, "@nasa", url, "", "generated", 1, control.Active, "generated"},
		{"equal", nil, "@nasa", url, "", "", 1, control.Active, "generated"},
		{"other words", nil, "@nasa @esa", url, "", "", 2, control.Active, "generated"},
		{"a secret", nil, "@nasa @esa", url, "a secret of the program", "", 3, control.Active, "a secret of the program"},
		{"the same secret", nil, "@nasa @esa", url, "a secret of the program", "", 3, control.Active, "a secret of the program"},
		{"no secret keeps it", nil, "@nasa @esa", url, "", "", 3, control.Active, "a secret of the program"},
		{"another URL", nil, "@nasa @esa", other, "a secret of the program", "", 4, control.Active, "a secret of the program"},
		{"no URL", nil, "@nasa @esa", "", "", "", 5, control.Active, ""},
		{"no URL again", nil, "@nasa @esa", "", "", "", 5, control.Active, ""},
		{"a URL", nil, "@nasa @esa", url, "", "generated", 6, control.Active, "generated"},
		{"a paused one stays paused", func(id string) error {
			paused := control.Paused
			_, _, err := d.Update(t.Context(), "acme", id, control.Request{Status: &paused}, func(*item, time.Time) error { return nil })
			return err
		}, "@nasa", url, "", "", 8, control.Paused, "generated"},
		{"equal and paused", nil, "@nasa", url, "", "", 8, control.Paused, "generated"},
		{"a suspended one stays suspended", func(id string) error {
			active := control.Active
			if _, _, err := d.Update(t.Context(), "acme", id, control.Request{Status: &active}, func(*item, time.Time) error { return nil }); err != nil {
				return err
			}
			_, err := d.Suspend(t.Context(), "acme", id, control.ReasonCredits)
			return err
		}, "@nasa", url, "", "", 10, control.Paused, "generated"},
	} {
		if row.before != nil {
			if err := row.before(first.ID); err != nil {
				t.Fatal(err)
			}
		}
		feed := d.last(t)
		it, generated, err := d.ensure(t.Context(), row.words, row.url, row.key)
		if i == 0 {
			first = it
		}
		if err != nil || it.ID != first.ID || it.Words != row.words || it.URL != row.url || it.Version != row.version || it.Status != row.status || generated != row.generated {
			t.Errorf("%s: %+v, %q, %v; want %+v", row.name, it, generated, err, row)
		}
		ep, err := d.store.Store.Get(t.Context(), "acme", record.Key{Kind: record.Endpoint, ID: it.EndpointID})
		if row.secret == "" && !errors.Is(err, record.ErrNotFound) || row.secret != "" && (err != nil || string(ep.Data) != row.secret || ep.Name != row.url) {
			t.Errorf("%s: the endpoint is %+v, %v; want the secret %q", row.name, ep, err, row.secret)
		}
		if equal := i > 0 && row.version == first.Version; equal != (d.last(t) == feed) && row.before == nil {
			t.Errorf("%s: %d entries in the feed", row.name, d.last(t)-feed)
		}
		first.Version = row.version
	}
	if _, _, err := d.Ensure(t.Context(), item{Owner: "acme"}, "", control.Webhook{}, nil); err == nil {
		t.Error("an item without a name was ensured")
	}
	if it, _, err := d.Ensure(t.Context(), item{Owner: "rival", Name: "a"}, "a", control.Webhook{}, nil); err != nil || it.ID == first.ID {
		t.Errorf("another owner's of the name: %+v, %v; want one of its own", it, err)
	}
}

func (d *desk) last(t *testing.T) uint64 {
	t.Helper()
	_, last, err := d.store.Store.Since(t.Context(), 0, 0)
	if err != nil && !errors.Is(err, record.ErrTooOld) {
		t.Fatal(err)
	}
	return last
}

// Processes that ensure a name at the same time get one record, with one secret.
func TestEnsureInManyProcesses(t *testing.T) {
	d := newDesk(t, nil)
	others := make([]*desk, 8)
	for i := range others {
		others[i] = newDesk(t, func(o *desk, cfg *control.Config[item, string]) {
			o.made = 100 * (i + 1) // ids of endpoints
			cfg.Records = d.store.Store
		})
	}
	var wg sync.WaitGroup
	ids := make([]string, len(others))
	secrets := make([]secret.Value, len(others))
	for i, o := range others {
		wg.Go(func() {
			it, generated, err := o.ensure(t.Context(), "@nasa", "https://h.example.com/", "")
			if err != nil {
				t.Error(err)
			}
			ids[i], secrets[i] = it.ID, generated
		})
	}
	wg.Wait()
	generated := 0
	for i := range ids {
		if ids[i] != ids[0] {
			t.Errorf("ids %q, want one", ids)
		}
		if secrets[i] != "" {
			generated++
		}
	}
	if generated != 1 || d.last(t) != 2 {
		t.Errorf("%d secrets and %d entries in the feed, want one secret, an item and its endpoint", generated, d.last(t))
	}
}

// List yields each record once, whatever is deleted meanwhile, and an error once.
func TestList(t *testing.T) {
	const n = 250
	d := newDesk(t, nil)
	var made []item
	for i := range n {
		made = append(made, d.create(t, func(it *item) { it.Name, it.URL = fmt.Sprint("item ", i), "" }))
	}
	remove := func(t *testing.T, items ...item) {
		for _, it := range items {
			if err := d.Delete(t.Context(), "acme", it.ID, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	i := 0
	for it, err := range d.List(t.Context(), "acme", control.Active) {
		if err != nil || it.ID != made[i].ID {
			t.Fatalf("the item at %d is %v, %v; want %v", i, it.Name, err, made[i].Name)
		}
		if i++; i == 120 {
			break
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	i = 0
	for _, err := range d.List(ctx, "acme", "") {
		if i++; (err != nil) != (i == 101) {
			t.Errorf("after %d items: %v", i, err)
		}
		if i == 100 {
			cancel()
		}
	}
	if i != 101 {
		t.Errorf("%d items of a context that ended at the 100th, want its error and no more", i)
	}
	for _, err := range d.List(t.Context(), "acme", "sleeping") {
		if i++; err == nil {
			t.Error("a status that is none was listed")
		}
	}
	if i != 102 {
		t.Errorf("%d errors of a status that is none, want 1", i-101)
	}
	for _, row := range []struct {
		name string
		at   int // of the item during which some are deleted
		from int
		to   int
	}{{"all before", 99, 0, 99}, {"some before and after", 60, 20, 80}, {"each one itself", -1, 0, 0}} {
		var left []item
		for it, err := range d.List(t.Context(), "acme", "") {
			if err != nil {
				t.Fatal(err)
			}
			left = append(left, it)
		}
		want := len(left)
		if row.at >= 0 {
			want -= max(0, row.to-row.at-1)
		}
		got := map[string]bool{}
		i := 0
		for it, err := range d.List(t.Context(), "acme", "") {
			if err != nil || got[it.ID] {
				t.Fatalf("%s: %v, %v again", row.name, it, err)
			}
			got[it.ID] = true
			if row.at < 0 {
				remove(t, it)
			} else if i == row.at {
				remove(t, left[row.from:row.to]...)
			}
			i++
		}
		// Those of the page that was read already may still come.
		if len(got) < want || len(got) > len(left) {
			t.Errorf("%s: %d items, want %d to %d", row.name, len(got), want, len(left))
		}
	}
}
