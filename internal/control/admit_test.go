package control_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
)

// A change that is put off waits without the lock, finds what was stored meanwhile, and
// ends with the error of its wait.
func TestChangesThatArePutOff(t *testing.T) {
	errBusy := errors.New("busy")
	for name, change := range map[string]func(d *desk, id string) error{
		"create": func(d *desk, _ string) error {
			_, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "mars"}, "")
			return err
		},
		"update": func(d *desk, id string) error {
			r, _, err := d.Update(t.Context(), "o", id, control.Request{}, func(r *thing, _ time.Time) error { r.Text += "s"; return nil })
			if err == nil && r.Text != "two moons" {
				t.Errorf("changed to %q, want what it was changed to meanwhile, and one more", r.Text)
			}
			return err
		},
		"suspend": func(d *desk, id string) error {
			_, err := d.Suspend(t.Context(), "o", id, control.ReasonCredits)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk()
			r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
			if err != nil {
				t.Fatal(err)
			}
			waits, most := 0, 3
			put := func() {
				d.later = &control.Later{Wait: func(ctx context.Context, waited time.Duration) (time.Duration, error) {
					if waited != time.Duration(waits) {
						t.Errorf("wait %d after %d", waits, waited)
					}
					if waits++; waits == most {
						d.later = nil
						if _, _, err := d.Update(ctx, "o", r.ID, control.Request{}, func(r *thing, _ time.Time) error { r.Text = "two moon"; return nil }); err != nil {
							t.Errorf("another change meanwhile: %v", err)
						}
					}
					if waits > 10 {
						return 0, errBusy
					}
					return waited + 1, nil
				}}
			}
			put()
			if err := change(d, r.ID); err != nil || waits != most {
				t.Errorf("%v after %d waits, want %d", err, waits, most)
			}
			waits, most = 0, 0
			put()
			if err := change(d, r.ID); name != "suspend" && err != errBusy {
				t.Errorf("%v, want the error of the wait", err)
			}
		})
	}
}

// A change that the store does not answer holds the lock no longer than a change may take.
func TestChangesThatHangAreBounded(t *testing.T) {
	for name, change := range map[string]func(ctx context.Context, d *desk, id string) error{
		"suspend": func(ctx context.Context, d *desk, id string) error {
			_, err := d.Suspend(ctx, "o", id, control.ReasonCredits)
			return err
		},
		"delete": func(ctx context.Context, d *desk, id string) error { return d.Delete(ctx, "o", id, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk()
				r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
				if err != nil {
					t.Fatal(err)
				}
				d.hangs = true
				began, got := time.Now(), make(chan error, 1)
				ctx, cancel := context.WithCancel(context.Background())
				go func() { got <- change(ctx, d, r.ID) }()
				<-time.After(time.Minute)
				synctest.Wait()
				select {
				case err := <-got:
					if !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("%v after %s", err, time.Since(began))
					}
				default:
					t.Error("hangs still after 1m")
				}
				cancel()
			})
		})
	}
}
