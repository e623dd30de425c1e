package monitor_test

import (
	"errors"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/monitor"
)

func TestSuspendAndRestore(t *testing.T) {
	type step func(d *desk, id string) (monitor.Monitor, error)
	suspend := func(reason string) step {
		return func(d *desk, id string) (monitor.Monitor, error) { return d.Suspend(t.Context(), "acme", id, reason) }
	}
	restore := func(reason string) step {
		return func(d *desk, id string) (monitor.Monitor, error) { return d.Restore(t.Context(), "acme", id, reason) }
	}
	pause := func(d *desk, id string) (monitor.Monitor, error) { return d.Pause(t.Context(), "acme", id) }
	resume := func(d *desk, id string) (monitor.Monitor, error) { return d.Resume(t.Context(), "acme", id) }
	credits := suspend(monitor.ReasonCredits)
	for _, row := range []struct {
		name   string
		steps  []step
		status monitor.Status
		reason string
		same   bool // Since is what it was at the creation
	}{
		{"suspended", []step{credits}, monitor.Paused, monitor.ReasonCredits, true},
		{"restored, it counts on", []step{credits, restore(monitor.ReasonCredits)}, monitor.Active, "", true},
		{"restored for another reason, it stays", []step{credits, restore("other")}, monitor.Paused, monitor.ReasonCredits, true},
		{"paused by its owner, it stays", []step{pause, credits}, monitor.Paused, monitor.ReasonUser, true},
		{"paused by its owner while suspended, it is not restored", []step{credits, pause, restore(monitor.ReasonCredits)}, monitor.Paused, monitor.ReasonUser, true},
		{"what the owner paused is not restored by that reason", []step{pause, restore(monitor.ReasonUser)}, monitor.Paused, monitor.ReasonUser, true},
		{"suspended twice keeps the first reason", []step{credits, suspend("other")}, monitor.Paused, monitor.ReasonCredits, true},
		{"resumed by its owner while suspended, it counts on", []step{credits, resume}, monitor.Active, "", true},
		{"paused and resumed by its owner, it counts from then", []step{pause, resume}, monitor.Active, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := newDesk(t)
			c := create(t, d, nil)
			for _, s := range row.steps {
				if _, err := s(d, c.ID); err != nil {
					t.Fatal(err)
				}
			}
			got, err := d.Get(t.Context(), "acme", c.ID)
			if err != nil || got.Status != row.status || got.StatusReason != row.reason {
				t.Errorf("%s %q, want %s %q (%v)", got.Status, got.StatusReason, row.status, row.reason, err)
			}
			if same := got.Accounts[0].Since.Equal(c.Accounts[0].Since); same != row.same {
				t.Errorf("posts count from %s, at the creation from %s", got.Accounts[0].Since, c.Accounts[0].Since)
			}
			if _, tracked := d.tracked[c.ID]; tracked != (row.status == monitor.Active) {
				t.Errorf("%s, and tracked: %t", row.status, tracked)
			}
		})
	}
}

// A monitor that goes on has what its accounts published after they were read last,
// and what may have become visible since.
func TestSuspendNotesWhatWasRead(t *testing.T) {
	d := newDesk(t)
	c := create(t, d, func(p *monitor.CreateRequest) { p.Usernames = []string{"NASA", "esa", "jaxa"} })
	since := c.Accounts[0].Since
	d.readErr = errors.New("no answer")
	if _, err := d.Suspend(t.Context(), "acme", c.ID, monitor.ReasonCredits); !errors.Is(err, d.readErr) {
		t.Errorf("error %v, want %v", err, d.readErr)
	}
	d.readErr = nil
	d.read = map[string]time.Time{"nasa": since.Add(5 * time.Hour), "esa": since.Add(-10 * time.Minute)} // jaxa was not
	if _, err := d.Suspend(t.Context(), "acme", c.ID, monitor.ReasonCredits); err != nil {
		t.Fatal(err)
	}
	got, err := d.Restore(t.Context(), "acme", c.ID, monitor.ReasonCredits)
	if err != nil || got.Status != monitor.Active {
		t.Fatalf("%s, %v, want it active", got.Status, err)
	}
	for i, want := range []time.Duration{5 * time.Hour, 0, 0} {
		if after := got.Accounts[i].Since.Sub(since); after != want {
			t.Errorf("%s counts from %s after its creation, want %s", got.Accounts[i].Username, after, want)
		}
	}
}

func TestSuspendRefuses(t *testing.T) {
	d := newDesk(t)
	c := create(t, d, nil)
	for _, reason := range []string{"", monitor.ReasonUser} {
		var f *monitor.FieldError
		if _, err := d.Suspend(t.Context(), "acme", c.ID, reason); !errors.As(err, &f) || f.Field != "status_reason" {
			t.Errorf("reason %q: %v", reason, err)
		}
	}
	if _, err := d.Suspend(t.Context(), "globex", c.ID, monitor.ReasonCredits); !errors.Is(err, monitor.ErrNotFound) {
		t.Errorf("another owner's monitor: %v", err)
	}
}

// Stored and not in effect, it would be paid for and not watched.
func TestRestoreThatFailsIsTakenBack(t *testing.T) {
	d := newDesk(t)
	c := create(t, d, nil)
	if _, err := d.Suspend(t.Context(), "acme", c.ID, monitor.ReasonCredits); err != nil {
		t.Fatal(err)
	}
	d.trackErr = errors.New("stopped")
	if _, err := d.Restore(t.Context(), "acme", c.ID, monitor.ReasonCredits); !errors.Is(err, d.trackErr) {
		t.Errorf("error %v", err)
	}
	if got, _ := d.Get(t.Context(), "acme", c.ID); got.Status != monitor.Paused || got.StatusReason != monitor.ReasonCredits {
		t.Errorf("%s %q, want it suspended still", got.Status, got.StatusReason)
	}
	d.trackErr = nil
	if _, err := d.Restore(t.Context(), "acme", c.ID, monitor.ReasonCredits); err != nil || d.tracked[c.ID].ID == "" {
		t.Errorf("again: %v", err)
	}
}
