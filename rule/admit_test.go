package rule_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/rule"
)

// Admit is called once for each change, with the rule before and after it. A change
// that it refuses has no effect; done is called after each one that it allows.
func TestAdmit(t *testing.T) {
	d := newDesk(t)
	var refuse error
	var asked string
	held := false
	var err error
	d.Manager, err = rule.NewManager(rule.Config{Store: d.store.Rules(), Tracker: d, Webhooks: d,
		Admit: func(_ context.Context, was *rule.Rule, is rule.Rule) (func(), error) {
			if held {
				t.Error("called before the change before was done")
			}
			asked = fmt.Sprint(is.Status, " ", is.Interval)
			if was != nil {
				asked = fmt.Sprint(was.Status, " ", was.Interval, " → ", asked)
			}
			held = refuse == nil
			return func() { held = false }, refuse
		}})
	if err != nil {
		t.Fatal(err)
	}
	var id string
	second := time.Second
	for _, step := range []struct {
		name, asked string
		do          func(ctx context.Context) error
	}{
		{"create", "active 1m0s", func(ctx context.Context) error {
			c, err := d.Create(ctx, rule.CreateRequest{Owner: "acme", Tag: "space", Query: "moon", Interval: time.Minute, WebhookURL: "https://h.example.com/"})
			if err == nil {
				id = c.ID
			}
			return err
		}},
		{"update", "active 1m0s → active 1s", func(ctx context.Context) error {
			_, err := d.Update(ctx, "acme", id, rule.UpdateRequest{Interval: &second})
			return err
		}},
		{"suspend", "active 1s → paused 1s", func(ctx context.Context) error {
			_, err := d.Suspend(ctx, "acme", id, rule.ReasonCredits)
			return err
		}},
		{"restore", "paused 1s → active 1s", func(ctx context.Context) error {
			_, err := d.Restore(ctx, "acme", id, rule.ReasonCredits)
			return err
		}},
	} {
		state := func() string {
			p, err := d.store.Rules().List(t.Context(), rule.Query{Owner: "acme", Page: 1, PageSize: 10})
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(p.Rules, len(d.tracked), d.webhooks)
		}
		before := state()
		refuse = errors.New("not now")
		if err := step.do(t.Context()); !errors.Is(err, refuse) || state() != before {
			t.Errorf("%s, refused: %v; the state is\n%s, was\n%s", step.name, err, state(), before)
		}
		if refuse = nil; step.do(t.Context()) != nil || state() == before || held {
			t.Errorf("%s, allowed: it failed, had no effect, or done was not called", step.name)
		}
		if asked != step.asked {
			t.Errorf("%s: called with %s, want %s", step.name, asked, step.asked)
		}
	}
}
