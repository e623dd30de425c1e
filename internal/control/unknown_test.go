package control_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
)

// A write that takes effect although the store answers with an error is in effect, at the
// latest when the store answers again: what is stored, tracked and bound agrees.
func TestWritesOfUnknownOutcome(t *testing.T) {
	const first = "https://a.example.com/"
	suspend := func(ctx context.Context, d *desk, id string) error {
		_, err := d.Suspend(ctx, "o", id, control.ReasonCredits)
		return err
	}
	for _, row := range []struct {
		name, lost string // lost is the call whose answer is lost
		suspended  bool   // before
		do         func(ctx context.Context, d *desk, id string) error
		left       string // stored, tracked, endpoints
	}{
		{"suspend", "update", false, suspend, "[moon paused insufficient_credits /a] [] [a]"},
		{"restore", "update", true, func(ctx context.Context, d *desk, id string) error {
			_, err := d.Restore(ctx, "o", id, control.ReasonCredits)
			return err
		}, "[moon active  /a] [moon] [a]"},
		{"change of the text", "update", false, func(ctx context.Context, d *desk, id string) error {
			_, _, err := d.Update(ctx, "o", id, control.Request{}, func(r *thing, _ time.Time) error { r.Text = "mars"; return nil })
			return err
		}, "[mars active  /a] [mars] [a]"},
		{"change of the webhook", "update", false, func(ctx context.Context, d *desk, id string) error {
			other := "https://b.example.com/"
			_, _, err := d.Update(ctx, "o", id, control.Request{WebhookURL: &other}, func(r *thing, _ time.Time) error { r.Text = "mars"; return nil })
			return err
		}, "[moon active  /a] [moon] [a]"},
		{"delete", "delete", false, func(ctx context.Context, d *desk, id string) error { return d.Delete(ctx, "o", id, 0) }, "[] [] []"},
		{"create", "create", false, func(ctx context.Context, d *desk, _ string) error {
			_, _, err := d.Create(ctx, thing{Owner: "o", Text: "mars"}, "")
			return err
		}, "[moon active  /a] [moon] [a]"},
	} {
		for name, unread := range map[string]bool{"": false, " and the store is down for a while": true} {
			t.Run(row.name+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					d := newDesk()
					r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon", URL: first}, "")
					if err != nil {
						t.Fatal(err)
					}
					if row.suspended {
						if err := suspend(t.Context(), d, r.ID); err != nil {
							t.Fatal(err)
						}
					}
					running(t, d)
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					d.lost = func(call string) bool {
						if call != row.lost {
							return false
						}
						d.lost, d.down = nil, unread
						cancel() // the caller has given up, too
						return true
					}
					err = row.do(ctx, d, r.ID)
					if known := row.name == "delete" && !unread; known != (err == nil) || err != nil && !errors.Is(err, errDown) {
						t.Errorf("error %v", err)
					}
					if unread {
						<-time.After(time.Minute)
						d.mu.Lock()
						d.down = false
						d.mu.Unlock()
						<-time.After(5 * time.Minute)
					}
					synctest.Wait()
					if got := d.state(); got != row.left {
						t.Errorf("left %s\nwant %s", got, row.left)
					}
				})
			})
		}
	}
}

// A write that takes effect only after the record has been read again is in effect soon.
func TestWriteThatComesLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
		if err != nil {
			t.Fatal(err)
		}
		running(t, d)
		d.fails["update"] = true
		if _, err := d.Suspend(t.Context(), "o", r.ID, control.ReasonCredits); !errors.Is(err, errDown) {
			t.Errorf("error %v", err)
		}
		d.mu.Lock()
		r.Status, r.Reason, r.Version = control.Paused, control.ReasonCredits, r.Version+1
		d.stored[r.ID] = r
		d.mu.Unlock()
		<-time.After(15 * time.Second)
		synctest.Wait()
		if got, want := d.state(), "[moon paused insufficient_credits /] [] []"; got != want {
			t.Errorf("left %s\nwant %s", got, want)
		}
	})
}

// A record that another process deletes meanwhile is not tracked again.
func TestDeleteOfWhatIsDeletedMeanwhile(t *testing.T) {
	d := newDesk()
	r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
	if err != nil {
		t.Fatal(err)
	}
	d.before = func(call string) {
		if call == "delete" {
			delete(d.stored, r.ID)
		}
	}
	if err := d.Delete(t.Context(), "o", r.ID, 0); !errors.Is(err, errNotFound) {
		t.Errorf("error %v", err)
	}
	if got := d.state(); got != "[] [] []" {
		t.Errorf("left %s", got)
	}
}
