package monitor_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/streamwatch/streamwatch/monitor"
)

// Admit is asked once for each change, with what was and what will be; what it
// refuses leaves everything as it was, and done follows each change let through.
func TestAdmit(t *testing.T) {
	d := newDesk(t)
	var refuse error
	var asked string
	held := false
	var err error
	d.Manager, err = monitor.NewManager(monitor.Config{Store: d.store.Monitors(), Tracker: d, Webhooks: d,
		Admit: func(_ context.Context, was *monitor.Monitor, is monitor.Monitor) (func(), error) {
			if held {
				t.Error("asked before the change before was done")
			}
			asked = fmt.Sprint(is.Status, " ", len(is.Accounts))
			if was != nil {
				asked = fmt.Sprint(was.Status, " ", len(was.Accounts), " → ", asked)
			}
			held = refuse == nil
			return func() { held = false }, refuse
		}})
	if err != nil {
		t.Fatal(err)
	}
	var id string
	for _, step := range []struct {
		name, asked string
		do          func(ctx context.Context) error
	}{
		{"create", "active 2", func(ctx context.Context) error {
			c, err := d.Create(ctx, valid())
			if err == nil {
				id = c.ID
			}
			return err
		}},
		{"update", "active 2 → active 1", func(ctx context.Context) error {
			_, err := d.Update(ctx, "acme", id, monitor.UpdateRequest{Usernames: &[]string{"nasa"}})
			return err
		}},
		{"suspend", "active 1 → paused 1", func(ctx context.Context) error {
			_, err := d.Suspend(ctx, "acme", id, monitor.ReasonCredits)
			return err
		}},
		{"restore", "paused 1 → active 1", func(ctx context.Context) error {
			_, err := d.Restore(ctx, "acme", id, monitor.ReasonCredits)
			return err
		}},
	} {
		state := func() string {
			p, err := d.store.Monitors().List(t.Context(), monitor.Query{Owner: "acme", Page: 1, PageSize: 10})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(p.Monitors, len(d.tracked), d.webhooks)
		}
		before := state()
		refuse = errors.New("not now")
		if err := step.do(t.Context()); !errors.Is(err, refuse) || state() != before {
			t.Errorf("%s that is refused: %v, and it is\n%s, was\n%s", step.name, err, state(), before)
		}
		if refuse = nil; step.do(t.Context()) != nil || state() == before || held {
			t.Errorf("%s that is let through did nothing, or did not end", step.name)
		}
		if asked != step.asked {
			t.Errorf("%s: asked about %s, want %s", step.name, asked, step.asked)
		}
	}
}
