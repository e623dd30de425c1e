package control_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
)

// running starts a manager's Run, for as long as the test goes on.
func running(t *testing.T, d *desk) {
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func (d *desk) thing(id string) thing {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.stored[id]
}

func (d *desk) failUpdates(fail bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.fails["update"] = fail
}

// A reason that was taken before a change is corrected after it, though the change
// has made its troubles void.
func TestReasonTakenBeforeAChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
		if err != nil {
			t.Fatal(err)
		}
		running(t, d)
		synctest.Wait()
		// Run has the reason when the change stores the record, and waits for its end.
		d.before = func(call string) {
			if d.before = nil; call == "admit" {
				d.Report("o", r.ID, "", errors.New("refused"))
				synctest.Wait()
			}
		}
		if _, _, err := d.Update(t.Context(), "o", r.ID, control.Request{}, func(r *thing, _ time.Time) error {
			r.Text = "mars"
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if got := d.thing(r.ID); got.Reason != "" || got.Text != "mars" {
			t.Errorf("%s with reason %q, which is that of the text before", got.Text, got.Reason)
		}
	})
}

// What is written of what fails, and when a write that failed is tried again.
func TestReasons(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
		if err != nil {
			t.Fatal(err)
		}
		running(t, d)
		d.Report("o", "thg_unknown", "", errors.New("nobody's"))
		synctest.Wait()
		for _, row := range []struct {
			what  string
			err   error
			fails bool
			want  string
		}{
			{"@b", errors.New("gone"), false, "upstream_error: @b: gone"},
			{"@a", errors.New("protected"), false, "upstream_error: @a: protected (and 1 more)"},
			{"", errors.New("refused"), true, "upstream_error: refused (and 2 more)"},
			{"", nil, false, "upstream_error: @a: protected (and 1 more)"},
			{"@a", nil, false, "upstream_error: @b: gone"},
			{"@b", nil, true, ""},
		} {
			before := d.thing(r.ID).Reason
			d.failUpdates(row.fails)
			d.Report("o", r.ID, row.what, row.err)
			synctest.Wait()
			if row.fails {
				d.failUpdates(false)
				if got := d.thing(r.ID).Reason; got != before {
					t.Errorf("%q: reason %q, though its write failed", row.what, got)
				}
				<-time.After(6 * time.Second)
				synctest.Wait()
			}
			if got := d.thing(r.ID).Reason; got != row.want {
				t.Errorf("%q %v: reason %q, want %q", row.what, row.err, got, row.want)
			}
		}
	})
}

// Another process that changes the record meanwhile makes WebhookMoved try again,
// five times at most.
func TestWebhookMovedBesideOtherProcesses(t *testing.T) {
	for _, row := range []struct {
		conflicts int
		from      string
		moved     bool
		err       error
	}{
		{0, "", true, nil},
		{4, "", true, nil},
		{5, "", false, errConflict},
		{0, "https://other.example.com/", false, nil},
	} {
		d := newDesk()
		r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
		if err != nil {
			t.Fatal(err)
		}
		left := row.conflicts
		d.before = func(call string) {
			if call == "update" && left > 0 {
				left--
				other := d.stored[r.ID]
				other.Version++
				d.stored[r.ID] = other
			}
		}
		moved, err := d.WebhookMoved(t.Context(), "o", r.ID, row.from, "https://b.example.com/")
		if moved != row.moved || !errors.Is(err, row.err) {
			t.Errorf("%d conflicts: %t %v, want %t %v", row.conflicts, moved, err, row.moved, row.err)
		}
		if got := d.thing(r.ID); (got.URL != "") != row.moved || got.SecretSet != row.moved {
			t.Errorf("%d conflicts: shows %q", row.conflicts, got.URL)
		}
	}
	if moved, err := newDesk().WebhookMoved(t.Context(), "o", "thg_unknown", "", "https://b.example.com/"); moved || err != nil {
		t.Errorf("of a record that does not exist: %t %v", moved, err)
	}
}

// A reason that another process has removed is written again while what it tells of fails
// here, and affects the record as it is now. Others' reasons stay, and so do those of what
// is read elsewhere.
func TestReasonThatAnotherProcessRemoved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
		if err != nil {
			t.Fatal(err)
		}
		running(t, d)
		follow := func(change func(*thing)) string {
			t.Helper()
			d.mu.Lock()
			stored := d.stored[r.ID]
			change(&stored)
			stored.Version++
			d.stored[r.ID] = stored
			d.mu.Unlock()
			if err := d.Follow(t.Context(), "o", r.ID); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return d.thing(r.ID).Reason
		}
		d.Report("o", r.ID, "@a", errors.New("gone"))
		synctest.Wait()
		own := control.ReasonUpstream + "@a: gone"
		for _, row := range []struct {
			text   string
			change func(*thing)
			want   string
		}{
			{"removed", func(r *thing) { r.Reason = "" }, own},
			{"another one's", func(r *thing) { r.Reason = "upstream_error: @b: gone" }, "upstream_error: @b: gone"},
			{"removed again", func(r *thing) { r.Reason = "" }, own},
			{"paused", func(r *thing) { r.Reason, r.Status = "", control.Paused }, ""},
		} {
			if got := follow(row.change); got != row.want {
				t.Errorf("%s: reason %q, want %q", row.text, got, row.want)
			}
		}
		d.Report("o", r.ID, "@a", errors.New("gone"))
		d.Forget(func(id, what string) bool { return id == r.ID && what == "@a" })
		if got := follow(func(r *thing) { r.Reason, r.Status = "", control.Active }); got != "" {
			t.Errorf("reason %q of what is read elsewhere", got)
		}
	})
}
