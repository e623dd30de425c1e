package rule_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/rule"
)

func TestSuspendAndRestore(t *testing.T) {
	type step = func(context.Context, *desk, string) (rule.Rule, error)
	pause := func(ctx context.Context, d *desk, id string) (rule.Rule, error) { return d.Pause(ctx, "acme", id) }
	resume := func(ctx context.Context, d *desk, id string) (rule.Rule, error) { return d.Resume(ctx, "acme", id) }
	suspend := func(ctx context.Context, d *desk, id string) (rule.Rule, error) {
		d.read = time.Now().Add(-30 * time.Minute)
		return d.Suspend(ctx, "acme", id, rule.ReasonCredits)
	}
	behind := func(ctx context.Context, d *desk, id string) (rule.Rule, error) {
		d.read = time.Now().Add(-9*time.Hour - 30*time.Minute)
		return d.Suspend(ctx, "acme", id, rule.ReasonCredits)
	}
	unread := func(ctx context.Context, d *desk, id string) (rule.Rule, error) {
		d.read = time.Time{}
		return d.Suspend(ctx, "acme", id, rule.ReasonCredits)
	}
	restore := func(ctx context.Context, d *desk, id string) (rule.Rule, error) {
		return d.Restore(ctx, "acme", id, rule.ReasonCredits)
	}
	const day = 24 * time.Hour
	for name, row := range map[string]struct {
		steps  []step // the first a day after the creation, the others an hour apart
		status rule.Status
		reason string
		since  time.Duration // after the creation
	}{
		"suspended long after it was read":          {[]step{behind, restore}, rule.Active, "", day - 9*time.Hour - 30*time.Minute},
		"suspended before it was read":              {[]step{unread, restore}, rule.Active, "", 0},
		"suspended again before it was read":        {[]step{suspend, restore, unread}, rule.Paused, rule.ReasonCredits, day - 30*time.Minute},
		"suspended again with what was read before": {[]step{suspend, restore, behind}, rule.Paused, rule.ReasonCredits, day - 30*time.Minute},
		"suspended":                              {[]step{suspend}, rule.Paused, rule.ReasonCredits, day - 30*time.Minute},
		"restored, it finds what came meanwhile": {[]step{suspend, restore}, rule.Active, "", day - 30*time.Minute},
		"resumed by its owner, it does so, too":  {[]step{suspend, resume}, rule.Active, "", day - 30*time.Minute},
		"paused and resumed, it begins now":      {[]step{suspend, pause, resume}, rule.Active, "", day + 2*time.Hour},
		"paused by its owner, not suspended":     {[]step{pause, suspend}, rule.Paused, rule.ReasonUser, 0},
		"paused by its owner, not restored":      {[]step{pause, restore}, rule.Paused, rule.ReasonUser, 0},
		"suspended, then paused, not restored":   {[]step{suspend, pause, restore}, rule.Paused, rule.ReasonUser, day - 30*time.Minute},
		"suspended twice":                        {[]step{suspend, suspend, restore}, rule.Active, "", day - 30*time.Minute},
		"restored while active":                  {[]step{restore}, rule.Active, "", 0},
		"restored and suspended again":           {[]step{suspend, restore, suspend}, rule.Paused, rule.ReasonCredits, day + 90*time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t)
				c := d.create(t, nil)
				<-time.After(day)
				var last rule.Rule
				for i, do := range row.steps {
					if i > 0 {
						<-time.After(time.Hour)
					}
					var err error
					if last, err = do(t.Context(), d, c.ID); err != nil {
						t.Fatal(err)
					}
				}
				if last.Status != row.status || last.StatusReason != row.reason || last.Since.Sub(c.CreatedAt) != row.since {
					t.Errorf("%s %q since %s after the creation, want %s %q %s",
						last.Status, last.StatusReason, last.Since.Sub(c.CreatedAt), row.status, row.reason, row.since)
				}
				d.same(t, last)
			})
		})
	}
}

// A rule is not suspended if ReadUntil fails.
func TestSuspendNeedsReadUntil(t *testing.T) {
	d := newDesk(t)
	c := d.create(t, nil)
	d.readErr = errors.New("no answer")
	if _, err := d.Suspend(t.Context(), "acme", c.ID, rule.ReasonCredits); !errors.Is(err, d.readErr) {
		t.Errorf("error %v, want %v", err, d.readErr)
	}
	if got, err := d.Get(t.Context(), "acme", c.ID); err != nil || got.Status != rule.Active {
		t.Errorf("%s, %v, want it active", got.Status, err)
	}
}

func TestSuspendRefuses(t *testing.T) {
	d := newDesk(t)
	c := d.create(t, nil)
	for _, reason := range []string{"", rule.ReasonUser} {
		var fe *rule.FieldError
		if _, err := d.Suspend(t.Context(), "acme", c.ID, reason); !errors.As(err, &fe) {
			t.Errorf("suspended for %q: %v", reason, err)
		}
	}
	if _, err := d.Suspend(t.Context(), "other", c.ID, rule.ReasonCredits); !errors.Is(err, rule.ErrNotFound) {
		t.Errorf("another's rule: %v", err)
	}
	if _, err := d.Restore(t.Context(), "other", c.ID, rule.ReasonCredits); !errors.Is(err, rule.ErrNotFound) {
		t.Errorf("another's rule: %v", err)
	}
	d.same(t, c.Rule)
}

// A change that cannot take effect leaves the rule as it was, in the store and in
// the tracker, and can be tried again.
func TestSuspendThatFails(t *testing.T) {
	for name, half := range map[string]bool{"at once": false, "half-way": true} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			c := d.create(t, nil)
			unchanged := func(want rule.Rule) {
				t.Helper()
				got, err := d.Get(t.Context(), "acme", c.ID)
				if err != nil || got.Status != want.Status || got.StatusReason != want.StatusReason || got.Since != want.Since {
					t.Errorf("%+v %v, want it as it was", got, err)
				}
				if _, ok := d.tracked[c.ID]; ok != (want.Status == rule.Active) {
					t.Errorf("%s, and tracked: %t", want.Status, ok)
				}
			}
			down := errors.New("engine is stopping")
			d.untrackErr = down
			if _, err := d.Suspend(t.Context(), "acme", c.ID, rule.ReasonCredits); !errors.Is(err, down) {
				t.Errorf("error %v", err)
			}
			unchanged(c.Rule)
			d.untrackErr = nil
			suspended, err := d.Suspend(t.Context(), "acme", c.ID, rule.ReasonCredits)
			if err != nil {
				t.Fatal(err)
			}
			d.trackErr, d.half = down, half
			if _, err := d.Restore(t.Context(), "acme", c.ID, rule.ReasonCredits); !errors.Is(err, down) {
				t.Errorf("error %v", err)
			}
			unchanged(suspended)
			d.trackErr = nil
			restored, err := d.Restore(t.Context(), "acme", c.ID, rule.ReasonCredits)
			if err != nil {
				t.Fatal(err)
			}
			d.same(t, restored)
		})
	}
}
