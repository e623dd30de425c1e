package rule

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// CreateRequest asks for a rule.
type CreateRequest struct {
	Owner         string        // may be "" in a program with one owner
	Tag           string        // 1 to 100 characters, unique per owner
	Query         string        // in the dialect of Config.Parse
	Platform      string        // one of Config.Platforms; "" for the first
	Interval      time.Duration // time between two polls; 0 with a Schedule
	Schedule      string        // when to poll, in place of Interval: see ParseSchedule
	MaxResults    int           // 1 to 100; 0 means 20
	WebhookURL    string        // "" for none
	WebhookSecret secret.Value  // signing secret; "" to generate one
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
	r := Rule{Owner: q.Owner, Tag: q.Tag, Query: q.Query, Platform: q.Platform, Interval: q.Interval, Schedule: q.Schedule, MaxResults: q.MaxResults, WebhookURL: q.WebhookURL}
	if r.MaxResults == 0 {
		r.MaxResults = DefaultResults
	}
	if err := m.checkPace(&r); err != nil {
		return Created{}, err
	}
	r, generated, err := m.base.Create(ctx, r, q.WebhookSecret)
	return Created{r, generated}, err
}
