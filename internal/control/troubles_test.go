package control_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// What fails becomes the note of its record, which is the status reason while it is active.
func TestTroubles(t *testing.T) {
	protected, notFound := errors.New("protected"), errors.New("not found")
	type report struct {
		what string
		err  error
	}
	for _, tt := range []struct {
		name    string
		reports []report
		want    string
	}{
		{"an account", []report{{"@nasa", protected}}, "upstream_error: @nasa: protected"},
		{"a query", []report{{"?moon", notFound}}, "upstream_error: not found"},
		{"the whole record", []report{{"", notFound}}, "upstream_error: not found"},
		{"recovered", []report{{"@nasa", protected}, {"@nasa", nil}}, ""},
		{"recovered without a failure", []report{{"@nasa", nil}}, ""},
		{"another error", []report{{"@nasa", protected}, {"@nasa", notFound}}, "upstream_error: @nasa: not found"},
		{"several, in order of their names", []report{{"@nasa", protected}, {"@esa", notFound}, {"@jaxa", protected}}, "upstream_error: @esa: not found (and 2 more)"},
		{"the whole record first", []report{{"@nasa", protected}, {"", notFound}}, "upstream_error: not found (and 1 more)"},
		{"one of several recovered", []report{{"@nasa", protected}, {"@esa", notFound}, {"@esa", nil}}, "upstream_error: @nasa: protected"},
		{"a long text", []report{{"@nasa", errors.New(strings.Repeat("x", 900))}}, "upstream_error: @nasa: " + strings.Repeat("x", 200) + "…"},
	} {
		for _, apart := range []bool{false, true} { // with a note after each report
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDesk(t, nil)
					defer goRun(t, d.Run)()
					it := d.create(t, nil)
					before := d.stored(t, it.ID)
					for _, r := range tt.reports {
						d.Report("acme", it.ID, r.what, r.err)
						if apart {
							synctest.Wait()
						}
					}
					synctest.Wait()
					got, err := d.Get(t.Context(), "acme", it.ID, 0)
					if err != nil || got.Reason != tt.want || got.Status != control.Active {
						t.Errorf("%s, reason %q, %v; want %q", got.Status, got.Reason, err, tt.want)
					}
					if after := d.stored(t, it.ID); after.Version != before.Version || !after.UpdatedAt.Equal(before.UpdatedAt) {
						t.Errorf("the note has made version %d of %d", after.Version, before.Version)
					}
				})
			})
		}
	}
}

func TestTroublesEnd(t *testing.T) {
	const note = "upstream_error: @nasa: protected"
	for _, tt := range []struct {
		name  string
		do    func(ctx context.Context, d *desk, id string) error
		now   string // the note after do
		notes int    // written until then
		later string // a minute after another process has noted "theirs"
	}{
		{"while it lasts", func(context.Context, *desk, string) error { return nil }, note, 1, note},
		{"recovered", func(_ context.Context, d *desk, id string) error {
			d.Report("acme", id, "@nasa", nil)
			return nil
		}, "", 2, "theirs"},
		{"reported again", func(_ context.Context, d *desk, id string) error {
			d.Report("acme", id, "@nasa", errors.New("protected"))
			return nil
		}, note, 1, note},
		{"polled elsewhere", func(_ context.Context, d *desk, id string) error {
			d.Forget(func(is, what string) bool { return is == id && what == "@nasa" })
			return nil
		}, note, 1, "theirs"},
		{"another polled elsewhere", func(_ context.Context, d *desk, id string) error {
			d.Forget(func(is, what string) bool { return what != "@nasa" })
			return nil
		}, note, 1, note},
		{"cleared, and it lasts", func(_ context.Context, d *desk, id string) error {
			d.Clear("acme", id)
			return nil
		}, note, 2, note},
		{"the account is no longer of the record", func(ctx context.Context, d *desk, id string) error {
			_, _, err := d.Update(ctx, "acme", id, control.Request{}, func(it *item, _ time.Time) error { it.Words = "@esa"; return nil })
			return err
		}, "", 2, "theirs"},
		{"changed otherwise", func(ctx context.Context, d *desk, id string) error {
			_, _, err := d.Update(ctx, "acme", id, control.Request{}, func(it *item, _ time.Time) error { it.Words += " @jaxa"; return nil })
			return err
		}, note, 1, note},
		{"paused", func(ctx context.Context, d *desk, id string) error {
			_, _, err := d.Update(ctx, "acme", id, control.Request{Status: ptr(control.Paused)}, unchanged)
			return err
		}, "", 1, "theirs"},
		{"suspended", func(ctx context.Context, d *desk, id string) error {
			_, err := d.Suspend(ctx, "acme", id, control.ReasonCredits)
			return err
		}, "", 1, "theirs"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, nil)
				defer goRun(t, d.Run)()
				it := d.create(t, nil)
				d.Report("acme", it.ID, "@nasa", errors.New("protected"))
				synctest.Wait()
				if err := tt.do(t.Context(), d, it.ID); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				written := 0
				d.store.set(func() { written = len(d.store.notes) })
				if got := d.stored(t, it.ID).Note; got != tt.now || written != tt.notes {
					t.Errorf("note %q after %d, want %q after %d", got, written, tt.now, tt.notes)
				}
				theirs := record.Note{Ref: record.Ref{Key: monitorKey(it.ID), Owner: "acme"}, Text: "theirs"}
				if _, err := d.store.Store.Apply(t.Context(), record.Change{Notes: []record.Note{theirs}}); err != nil {
					t.Fatal(err)
				}
				pass(time.Minute)
				if got := d.stored(t, it.ID).Note; got != tt.later {
					t.Errorf("a minute later: note %q, want %q", got, tt.later)
				}
			})
		})
	}
}

// What a store does not take is written when it does, in changes that it allows.
func TestTroublesOfManyOutliveAStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, nil)
		defer goRun(t, d.Run)()
		ids := make([]string, 2*record.MaxChange+1)
		for i := range ids {
			ids[i] = d.create(t, func(it *item) { it.Name, it.URL = strings.Repeat("a", i+1), "" }).ID
		}
		largest := 0
		down := true
		d.store.set(func() {
			d.store.before = func(c *record.Change) error {
				d.store.set(func() { largest = max(largest, len(c.Notes)) })
				if down {
					return errDown
				}
				return nil
			}
		})
		for _, id := range ids {
			d.Report("acme", id, "@nasa", errors.New("protected"))
		}
		pass(time.Minute)
		d.Report("acme", ids[0], "@nasa", nil) // meanwhile
		pass(5 * time.Second)
		d.store.set(func() { down = false })
		pass(5 * time.Second)
		for i, id := range ids {
			want := "upstream_error: @nasa: protected"
			if i == 0 {
				want = ""
			}
			if got := d.stored(t, id).Note; got != want {
				t.Fatalf("record %d: note %q, want %q", i, got, want)
			}
		}
		if largest != record.MaxChange {
			t.Errorf("%d notes in a change, want at most %d", largest, record.MaxChange)
		}
	})
}
