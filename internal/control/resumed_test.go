package control_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
)

// A record says when it last became active again, however that came.
func TestResumedAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDesk()
		r, _, err := d.Create(t.Context(), thing{Owner: "o", Text: "moon"}, "")
		if err != nil {
			t.Fatal(err)
		}
		to := func(s control.Status) func() error {
			return func() error {
				_, _, err := d.Update(t.Context(), "o", r.ID, control.Request{Status: &s}, func(*thing, time.Time) error { return nil })
				return err
			}
		}
		suspend := func() error { _, err := d.Suspend(t.Context(), "o", r.ID, control.ReasonCredits); return err }
		restore := func() error { _, err := d.Restore(t.Context(), "o", r.ID, control.ReasonCredits); return err }
		var want time.Time
		for i, step := range []struct {
			do      func() error
			resumes bool
		}{
			{to(control.Active), false}, {to(control.Paused), false}, {to(control.Active), true}, {to(control.Active), false},
			{suspend, false}, {restore, true}, {restore, false}, {suspend, false}, {to(control.Active), true},
		} {
			<-time.After(time.Minute)
			if step.resumes {
				want = time.Now().UTC()
			}
			if err := step.do(); err != nil {
				t.Fatal(err)
			}
			if got := d.stored[r.ID].Resumed; !got.Equal(want) {
				t.Errorf("step %d: resumed at %s, want %s", i, got, want)
			}
		}
	})
}
