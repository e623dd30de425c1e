package rule

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/secret"
)

// CreateRequest asks for a rule.
type CreateRequest struct {
	Owner         string         // may be "" in a program with one owner
	Tag           string         // 1 to 100 characters, unique per owner
	Query         string         // in the dialect of Config.Parse
	Platform      string         // one of Config.Platforms; "" for the first, unless Config.NeedPlatform
	Interval      time.Duration  // time between two polls; 0 with a Schedule
	Schedule      string         // when to poll, in place of Interval: see ParseSchedule
	MaxResults    int            // 1 to 100; 0 means 20
	WebhookURL    string         // "" for none
	WebhookSecret secret.Value   // signing secret; "" to generate one
	WebhookLimits deliver.Limits // of the webhook's requests
}

// Created is a new rule.
type Created struct {
	Rule
	// WebhookSecret is the generated signing secret, or "" if the request had one. It is shown
	// only here. Convert it to a string to see it.
	WebhookSecret secret.Value
}

// Create creates a rule and starts to poll it. The rule finds posts published from now
// on. After an error the rule does not exist.
func (m *Manager) Create(ctx context.Context, q CreateRequest) (Created, error) {
	r, err := m.requested(q)
	if err != nil {
		return Created{}, err
	}
	r, generated, err := m.base.Create(ctx, r, control.Webhook{Secret: q.WebhookSecret, Limits: q.WebhookLimits})
	return Created{r, generated}, err
}

// Ensure creates the rule, or makes the owner's rule of this Tag equal to the request, which a
// program may call at each start and in several processes. A zero field means what it means for
// Create, except that an endpoint keeps its limits and, without a WebhookSecret, its secret. The
// Platform of a rule cannot change. A paused rule stays paused. A rule that is equal already is not stored again. Errors are those of Create and Update.
func (m *Manager) Ensure(ctx context.Context, q CreateRequest) (Created, error) {
	want, err := m.requested(q)
	if err != nil {
		return Created{}, err
	}
	platform := func(name string) string {
		if name == "" && len(m.cfg.Platforms) > 0 {
			return m.cfg.Platforms[0]
		}
		return name
	}
	r, generated, err := m.base.Ensure(ctx, want, q.Tag, control.Webhook{Secret: q.WebhookSecret, Limits: q.WebhookLimits}, func(r *Rule, now time.Time) error {
		if platform(r.Platform) != platform(q.Platform) {
			return invalid.Field("rule", "platform", q.Platform, fmt.Sprintf("%q, which the rule has: delete it first", platform(r.Platform)))
		}
		m.setQuery(r, want.Query, now)
		r.Interval, r.Schedule, r.MaxResults = want.Interval, want.Schedule, want.MaxResults
		return nil
	})
	return Created{r, generated}, err
}

// requested returns the rule of a request.
func (m *Manager) requested(q CreateRequest) (Rule, error) {
	r := Rule{Owner: q.Owner, Tag: q.Tag, Query: q.Query, Platform: q.Platform, Interval: q.Interval, Schedule: q.Schedule, MaxResults: q.MaxResults, WebhookURL: q.WebhookURL}
	if r.MaxResults == 0 {
		r.MaxResults = DefaultResults
	}
	if r.Platform == "" && m.cfg.NeedPlatform {
		return r, m.badPlatform(r.Platform)
	}
	return r, m.checkPace(&r)
}
