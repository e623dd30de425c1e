package rule

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/rule/query"
	"github.com/streamwatch/streamwatch/secret"
)

// UpdateRequest changes the fields that are not nil.
type UpdateRequest struct {
	Tag           *string
	Query         *string        // another one finds posts published from now on
	Interval      *time.Duration // ends a schedule
	Schedule      *string        // ends an interval
	MaxResults    *int
	WebhookURL    *string       // "" removes the endpoint
	WebhookSecret *secret.Value // replaces the secret
	Status        *Status       // Paused and Active pause and resume
	// Version is that of the rule which the request was made for: ErrConflict
	// when it has been changed since. 0 changes it as it is.
	Version int64
}

// Updated is a changed rule.
type Updated struct {
	Rule
	// WebhookSecret is a generated secret, as in Created.
	WebhookSecret secret.Value
}

// Update changes a rule. With another query, and after a resume, posts from now
// on are its events; a rule that was paused for lack of credits goes on where it
// was. An error that comes with the changed rule says that it is
// stored and not in effect yet.
func (m *Manager) Update(ctx context.Context, owner, id string, q UpdateRequest) (Updated, error) {
	unlock, err := m.lock(ctx)
	if err != nil {
		return Updated{}, err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ChangeTimeout)
	defer cancel()
	old, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return Updated{}, err
	}
	if q.Version != 0 && q.Version != old.Version {
		return Updated{}, ErrConflict
	}
	r, key, err := m.changed(old, q)
	if err != nil {
		return Updated{}, err
	}
	done, err := m.cfg.Admit(ctx, &old, r)
	if err != nil {
		return Updated{}, err
	}
	defer done()
	out := Updated{}
	if err := m.cfg.Store.Update(ctx, r); err != nil {
		return out, err
	}
	r.Version++
	if q.WebhookURL != nil || key != "" {
		if out.WebhookSecret, err = m.cfg.Webhooks.Change(ctx, r, old.WebhookURL, r.WebhookURL, key); err != nil {
			old.Version = r.Version
			return Updated{}, errors.Join(err, m.cfg.Store.Update(context.WithoutCancel(ctx), old))
		}
	}
	if r.Query != old.Query {
		m.troubles.forget(id) // they were of the other query
	}
	out.Rule = r
	if err := m.apply(ctx, r); err != nil {
		return out, fmt.Errorf("rule: the change is stored and not in effect yet, the same call again completes it: %w", err)
	}
	return out, nil
}

// changed applies a request to a copy of the rule and checks the result.
func (m *Manager) changed(old Rule, q UpdateRequest) (r Rule, key secret.Value, err error) {
	r = old
	now := m.cfg.Now().UTC()
	r.UpdatedAt = now
	if q.Tag != nil {
		r.Tag = *q.Tag
	}
	if q.MaxResults != nil {
		r.MaxResults = *q.MaxResults
	}
	if q.Interval != nil {
		r.Interval, r.Schedule = *q.Interval, ""
	}
	if q.Schedule != nil {
		r.Schedule = *q.Schedule
		if q.Interval == nil {
			r.Interval = 0
		}
	}
	if q.Query != nil && *q.Query != old.Query {
		r.Query, r.Since = *q.Query, now
		if r.Status == Active {
			r.StatusReason = ""
		}
	}
	if q.WebhookURL != nil {
		r.WebhookURL = *q.WebhookURL
		r.WebhookSecretSet = r.WebhookURL != ""
	}
	if q.WebhookSecret != nil {
		if key = *q.WebhookSecret; key == "" || r.WebhookURL == "" {
			return r, "", invalid.Field("rule", "webhook_secret", secret.Redacted, "24 to 128 characters, for a rule with a webhook_url")
		}
	}
	// Who pauses what the program has suspended means it for good.
	if q.Status != nil && (*q.Status != old.Status || *q.Status == Paused && old.StatusReason != ReasonUser) {
		r.Status, r.StatusReason = *q.Status, ""
		if r.Status == Paused {
			r.StatusReason = ReasonUser
		} else if old.StatusReason != ReasonCredits { // or what was published since would be lost
			r.Since = now
		}
	}
	if q.Interval != nil || q.Schedule != nil {
		if err := m.checkPace(&r); err != nil {
			return r, "", err
		}
	}
	_, err = m.check(&r, key)
	return r, key, err
}

// Pause stops a rule: when it returns, nothing is detected any more.
func (m *Manager) Pause(ctx context.Context, owner, id string) (Rule, error) {
	return m.setStatus(ctx, owner, id, Paused)
}

// Resume goes on with what is published from now on.
func (m *Manager) Resume(ctx context.Context, owner, id string) (Rule, error) {
	return m.setStatus(ctx, owner, id, Active)
}

func (m *Manager) setStatus(ctx context.Context, owner, id string, s Status) (Rule, error) {
	u, err := m.Update(ctx, owner, id, UpdateRequest{Status: &s})
	return u.Rule, err
}

const maxOwner = 128 // bytes

// check validates a rule, its query included.
func (m *Manager) check(r *Rule, key secret.Value) (*query.Program, error) {
	if len(r.Owner) > maxOwner || !printable(r.Owner) {
		return nil, invalid.Field("rule", "owner", clip(r.Owner), "at most 128 bytes of printable text")
	}
	if strings.TrimSpace(r.Tag) == "" || !printable(r.Tag) {
		return nil, invalid.Field("rule", "tag", clip(r.Tag), "1 to 100 printable characters")
	}
	if err := r.Validate(); err != nil {
		return nil, err
	}
	p, _, err := m.Parse(r.Query)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", invalid.Field("rule", "query", clip(r.Query), "a query of the dialect "+m.cfg.Parse.Dialect.String()), err)
	}
	if r.Schedule != "" {
		if _, err := ParseSchedule(r.Schedule); err != nil {
			return nil, err
		}
	}
	if r.WebhookURL == "" {
		if key != "" {
			return nil, invalid.Field("rule", "webhook_secret", secret.Redacted, "none without a webhook_url")
		}
		return p, nil
	}
	return p, m.cfg.Webhooks.Check(r.WebhookURL, key)
}

// checkPace holds what a request asks for against the manager's bound. What is
// stored may be of a manager with another one, and stays.
func (m *Manager) checkPace(r *Rule) error {
	if r.Schedule == "" && r.Interval < m.cfg.MinInterval {
		return invalid.Field("rule", "interval_seconds", fmt.Sprint(r.Interval.Seconds()),
			fmt.Sprintf("%v to %v, or a schedule", m.cfg.MinInterval.Seconds(), MaxInterval.Seconds()))

	}
	return nil
}

func printable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return false
		}
	}
	return true
}
