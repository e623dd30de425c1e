package rule

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/secret"
)

// UpdateRequest changes the fields that are not nil.
type UpdateRequest struct {
	Tag           *string
	Query         *string        // a changed query judges the posts published since the last poll
	Interval      *time.Duration // replaces a schedule
	Schedule      *string        // replaces an interval
	MaxResults    *int
	WebhookURL    *string       // "" removes the endpoint
	WebhookSecret *secret.Value // replaces the secret
	Status        *Status       // Paused and Active pause and resume
	// Version is the expected version of the rule. Update returns ErrConflict if the rule has
	// another version. 0 means any version.
	Version int64
}

// Updated is a changed rule.
type Updated struct {
	Rule
	// WebhookSecret is the generated secret of a new endpoint, as in Created.
	WebhookSecret secret.Value
}

// Update changes a rule. A changed query finds the posts of one interval before the change, which the
// old one has not polled yet. After a pause, the rule finds posts published from now on. A resumed rule that was suspended for lack of credits also finds the posts published
// during the suspension. If Update returns both a rule and an error, the change is stored but not
// yet in effect.
func (m *Manager) Update(ctx context.Context, owner, id string, q UpdateRequest) (Updated, error) {
	shared := control.Request{WebhookURL: q.WebhookURL, WebhookSecret: q.WebhookSecret, Status: (*control.Status)(q.Status), Version: q.Version}
	r, generated, err := m.base.Update(ctx, owner, id, shared, func(r *Rule, now time.Time) error { return m.change(r, q, now) })
	return Updated{r, generated}, err
}

// change sets the fields that only rules have.
func (m *Manager) change(r *Rule, q UpdateRequest, now time.Time) error {
	if q.Tag != nil {
		r.Tag = *q.Tag
	}
	if q.MaxResults != nil {
		r.MaxResults = *q.MaxResults
	}
	if q.Query != nil {
		m.setQuery(r, *q.Query, now)
	}
	if q.Interval == nil && q.Schedule == nil {
		return nil
	}
	r.Interval, r.Schedule = 0, ""
	if q.Interval != nil {
		r.Interval = *q.Interval
	}
	if q.Schedule != nil {
		r.Schedule = *q.Schedule
	}
	return m.checkPace(r)
}

// setQuery changes the query, if it is another. The rule then begins with the posts of one interval,
// which the old query has not polled yet.
func (m *Manager) setQuery(r *Rule, query string, now time.Time) {
	if query == r.Query {
		return
	}
	r.Query = query
	if last := now.Add(-m.Every(*r)); last.After(r.Since) {
		r.Since = last
	}
}

// Pause stops a rule. After it returns, this process detects no more posts for it, others stop
// within a second.
func (m *Manager) Pause(ctx context.Context, owner, id string) (Rule, error) {
	return m.setStatus(ctx, owner, id, Paused)
}

// Resume restarts a paused rule, for posts published from now on.
func (m *Manager) Resume(ctx context.Context, owner, id string) (Rule, error) {
	return m.setStatus(ctx, owner, id, Active)
}

func (m *Manager) setStatus(ctx context.Context, owner, id string, s Status) (Rule, error) {
	u, err := m.Update(ctx, owner, id, UpdateRequest{Status: &s})
	return u.Rule, err
}

// Suspend pauses an active rule on behalf of the program, not of its owner, for a reason
// such as ReasonCredits. It does not change a paused rule. Restore, unlike Resume, finds
// the posts that were published during the pause.
func (m *Manager) Suspend(ctx context.Context, owner, id, reason string) (Rule, error) {
	return m.base.Suspend(ctx, owner, id, reason)
}

// Restore resumes a rule that was suspended for the given reason. It does not change any other
// rule.
func (m *Manager) Restore(ctx context.Context, owner, id, reason string) (Rule, error) {
	return m.base.Restore(ctx, owner, id, reason)
}

// Delete removes a rule and its endpoints. Its events stay in the logs.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	return m.DeleteVersion(ctx, owner, id, 0)
}

// DeleteVersion deletes a rule like Delete, but returns ErrConflict if the rule has another
// version. 0 means any version.
func (m *Manager) DeleteVersion(ctx context.Context, owner, id string, version int64) error {
	return m.base.Delete(ctx, owner, id, version)
}
