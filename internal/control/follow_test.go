package control_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/record"
)

// Follow brings the tracker to what is stored.
func TestFollow(t *testing.T) {
	refused := invalid.Refused(errors.New("no searcher"))
	for _, tt := range []struct {
		name    string
		words   string
		status  control.Status // "" for deleted
		track   error
		untrack error
		want    error
		tracked bool
		reason  string
	}{
		{name: "active", words: "@esa", status: control.Active, tracked: true},
		{name: "paused", words: "@esa", status: control.Paused},
		{name: "deleted"},
		{name: "cannot be parsed", words: "(", status: control.Active, reason: "upstream_error: cannot parse"},
		{name: "refused by the tracker", words: "@esa", status: control.Active, track: refused, reason: "upstream_error: no searcher"},
		{name: "the tracker is down", words: "@esa", status: control.Active, track: errDown, want: errDown, tracked: true},
		{name: "the tracker is down, and it is paused", words: "@esa", status: control.Paused, untrack: errDown, want: errDown, tracked: true},
		{name: "the tracker is down, and it is deleted", untrack: errDown, want: errDown, tracked: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				defer goRun(t, d.Run)()
				it := d.create(t, nil)
				d.elsewhere(t, it.ID, tt.words, tt.status)
				d.failing[it.ID], d.stuck = tt.track, tt.untrack
				if err := d.Follow(t.Context(), entry(it.ID)); !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
				if got := d.isTracked(it.ID); got != tt.tracked || got && tt.want == nil && d.tracked[it.ID].Words != tt.words {
					t.Errorf("tracked: %t %+v, want %t", got, d.tracked[it.ID], tt.tracked)
				}
				synctest.Wait()
				if tt.status != "" {
					if got := d.stored(t, it.ID).Note; got != tt.reason {
						t.Errorf("note %q, want %q", got, tt.reason)
					}
				}
				// Fixed, it runs, and its reason is cleared.
				delete(d.failing, it.ID)
				if d.stuck = nil; tt.status == control.Active {
					d.elsewhere(t, it.ID, "@jaxa", control.Active)
					if err := d.Follow(t.Context(), entry(it.ID)); err != nil || d.tracked[it.ID].Words != "@jaxa" {
						t.Errorf("fixed: %v, tracked %+v", err, d.tracked[it.ID])
					}
					synctest.Wait()
					if got := d.stored(t, it.ID).Note; got != "" {
						t.Errorf("fixed, with the note %q", got)
					}
				}
			})
		})
	}
	d := newDesk(t, nil)
	it := d.create(t, nil)
	d.store.get = func(record.Key) error { return errDown }
	if err := d.Follow(t.Context(), entry(it.ID)); !errors.Is(err, errDown) || !d.isTracked(it.ID) {
		t.Errorf("while the store is down: %v, tracked %t", err, d.isTracked(it.ID))
	}
}

// elsewhere changes a stored item as another process does; a status of "" deletes it.
func (d *desk) elsewhere(t *testing.T, id, words string, status control.Status) {
	t.Helper()
	c := record.Change{Delete: []record.Ref{{Key: monitorKey(id), Owner: "acme"}}}
	if status != "" {
		it, err := itemOf(d.stored(t, id))
		if err != nil {
			t.Fatal(err)
		}
		it.Words, it.Status = words, status
		r, err := it.record()
		if err != nil {
			t.Fatal(err)
		}
		c = record.Change{Put: []record.Record{r}}
	}
	if _, err := d.store.Store.Apply(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

// Reread tracks what is active and untracks what is not, or is gone.
func TestReread(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		defer goRun(t, d.Run)()
		ids := map[string]string{}
		for _, name := range []string{"stays", "paused", "gone", "refused", "noted", "noted elsewhere"} {
			ids[name] = d.create(t, func(it *item) { it.Name, it.URL = name, "" }).ID
			d.Report("acme", ids[name], "@esa", errors.New("protected"))
		}
		d.failing[ids["refused"]] = invalid.Refused(errors.New("no searcher"))
		if err := d.Follow(t.Context(), entry(ids["refused"])); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d.Forget(func(id, _ string) bool { return id == ids["noted"] || id == ids["noted elsewhere"] })
		d.elsewhere(t, ids["paused"], "@esa", control.Paused)
		d.elsewhere(t, ids["gone"], "", "")
		d.elsewhere(t, ids["refused"], "", "")
		how := control.Start{Spread: true, Missed: time.Hour}
		if err := d.Reread(t.Context(), how, func(it item) bool { return it.Name == "noted" }); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"stays", "paused", "gone", "refused", "noted", "noted elsewhere"} {
			if got, want := d.isTracked(ids[name]), name == "stays" || name == "noted" || name == "noted elsewhere"; got != want {
				t.Errorf("%s: tracked %t", name, got)
			}
		}
		if d.how != how {
			t.Errorf("tracked with %+v, want %+v", d.how, how)
		}
		synctest.Wait()
		for name, want := range map[string]string{"stays": "upstream_error: @esa: protected", "noted": "", "noted elsewhere": "upstream_error: @esa: protected"} {
			if got := d.stored(t, ids[name]).Note; got != want {
				t.Errorf("%s: note %q, want %q", name, got, want)
			}
		}
		d.store.set(func() { d.store.notes = nil })
		pass(2 * time.Minute)
		d.store.set(func() {
			for _, n := range d.store.notes {
				if n.ID != ids["stays"] {
					t.Errorf("the failures of what is not tracked are written: %+v", n)
				}
			}
		})
	})
}

func TestRereadFails(t *testing.T) {
	d := newDesk(t, nil)
	a, b := d.create(t, nil), d.create(t, func(it *item) { it.Name = "b" })
	never := func(item) bool { return false }
	d.failing[a.ID] = errDown
	if err := d.Reread(t.Context(), control.Start{}, never); !errors.Is(err, errDown) {
		t.Errorf("error %v, want that of Track", err)
	}
	delete(d.failing, a.ID)
	d.elsewhere(t, b.ID, "", "")
	d.stuck = errDown
	if err := d.Reread(t.Context(), control.Start{}, never); !errors.Is(err, errDown) {
		t.Errorf("error %v, want that of Untrack", err)
	}
	d.stuck = nil
	if err := d.Reread(t.Context(), control.Start{}, never); err != nil || d.isTracked(b.ID) || !d.isTracked(a.ID) {
		t.Errorf("again: %v, tracked %v", err, slices.Collect(maps.Keys(d.tracked)))
	}
}

// End untracks the records of one owner, which may be "".
func TestEnd(t *testing.T) {
	for _, owner := range []string{"acme", ""} {
		t.Run(fmt.Sprintf("%q", owner), func(t *testing.T) {
			d := newDesk(t, nil)
			for _, o := range []string{"acme", ""} {
				d.create(t, func(it *item) { it.Owner = o })
				d.create(t, func(it *item) { it.Owner, it.Name = o, "b" })
			}
			d.stuck = errDown
			if err := d.End(t.Context(), func(of string) bool { return of == owner }); !errors.Is(err, errDown) {
				t.Errorf("error %v, want that of Untrack", err)
			}
			d.stuck = nil
			if err := d.End(t.Context(), func(of string) bool { return of == owner }); err != nil || len(d.tracked) != 2 {
				t.Errorf("error %v, tracked %v", err, d.tracked)
			}
			for _, it := range d.tracked {
				if it.Owner == owner {
					t.Errorf("%+v is tracked", it)
				}
			}
		})
	}
}

// Each calls fn outside the store: fn may change what it is called with.
func TestEach(t *testing.T) {
	d := newDesk(t, nil)
	for _, name := range []string{"a", "b", "c"} {
		d.create(t, func(it *item) { it.Name, it.Owner = name, "of "+name })
	}
	var names string
	err := d.Each(t.Context(), func(it item) error {
		names += it.Name
		return d.Delete(context.WithoutCancel(t.Context()), it.Owner, it.ID, 0)
	})
	if err != nil || names != "abc" || len(d.tracked) != 0 {
		t.Errorf("each of %q, %v, tracked %v", names, err, d.tracked)
	}
	d.create(t, nil)
	if err := d.Each(t.Context(), func(item) error { return errDown }); !errors.Is(err, errDown) {
		t.Errorf("error %v, want that of fn", err)
	}
}

// A record that cannot be decoded stops no other.
func TestUndecodableRecord(t *testing.T) {
	d := newDesk(t, nil)
	good := d.create(t, nil)
	bad := record.Record{Key: monitorKey("it_bad"), Owner: "acme", Status: "active", Data: []byte("{")}
	if _, err := d.store.Store.Apply(t.Context(), record.Change{Put: []record.Record{bad}}); err != nil {
		t.Fatal(err)
	}
	clear(d.tracked)
	err := d.Reread(t.Context(), control.Start{}, func(item) bool { return false })
	if err != nil || !d.isTracked(good.ID) || len(d.tracked) != 1 {
		t.Errorf("error %v, tracked %v", err, d.tracked)
	}
	if s := d.log.String(); !strings.Contains(s, "level=ERROR") || !strings.Contains(s, "kind=monitor id=it_bad") {
		t.Errorf("log %q", s)
	}
}
