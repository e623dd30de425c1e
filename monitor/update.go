package monitor

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/secret"
)

// UpdateRequest changes the fields that are not nil.
type UpdateRequest struct {
	Name          *string
	Usernames     *[]string
	FilterTypes   *[]FilterType
	PollInterval  *time.Duration // 0 means the default: see Config.Paced
	Weight        *float64
	WebhookURL    *string       // "" removes the endpoint
	WebhookSecret *secret.Value // replaces the secret
	Status        *Status       // Paused and Active pause and resume
	// Version is the expected version of the monitor. Update returns ErrConflict if the monitor
	// has another version. 0 means any version.
	Version int64
}

// Updated is a changed monitor.
type Updated struct {
	Monitor
	// WebhookSecret is the generated secret of a new endpoint, as in Created.
	WebhookSecret secret.Value
}

// Update changes a monitor. Accounts that stay keep their Since. The monitor finds posts of new
// accounts, and after a resume of all accounts, that are published from now on. A resumed monitor
// that was suspended for lack of credits also finds the posts published during the suspension. If
// Update returns both a monitor and an error, the change is stored but not yet in effect.
func (m *Manager) Update(ctx context.Context, owner, id string, r UpdateRequest) (Updated, error) {
	q := control.Request{WebhookURL: r.WebhookURL, WebhookSecret: r.WebhookSecret, Status: (*control.Status)(r.Status), Version: r.Version}
	mon, generated, err := m.base.Update(ctx, owner, id, q, func(mon *Monitor, now time.Time) error { return m.change(mon, r, now) })
	return Updated{m.effective(mon), generated}, err
}

// change sets the fields that only monitors have.
func (m *Manager) change(mon *Monitor, r UpdateRequest, now time.Time) (err error) {
	if r.Name != nil {
		mon.Name = *r.Name
	}
	if r.FilterTypes != nil {
		mon.FilterTypes = *r.FilterTypes
	}
	if r.Weight != nil {
		mon.Weight = *r.Weight
	}
	if r.PollInterval != nil {
		mon.PollInterval = *r.PollInterval
		if err := m.checkInterval(mon.PollInterval); err != nil {
			return err
		}
	}
	if r.Usernames != nil {
		mon.Accounts, err = m.accounts(*r.Usernames, mon.Accounts, now)
	}
	return err
}

// Pause stops a monitor. After it returns, this process detects no more posts for it, others stop
// within a second.
func (m *Manager) Pause(ctx context.Context, owner, id string) (Monitor, error) {
	return m.setStatus(ctx, owner, id, Paused)
}

// Resume restarts a paused monitor, for posts published from now on.
func (m *Manager) Resume(ctx context.Context, owner, id string) (Monitor, error) {
	return m.setStatus(ctx, owner, id, Active)
}

func (m *Manager) setStatus(ctx context.Context, owner, id string, s Status) (Monitor, error) {
	u, err := m.Update(ctx, owner, id, UpdateRequest{Status: &s})
	return u.Monitor, err
}

// Suspend pauses an active monitor on behalf of the program, not of its owner, for a reason such
// as ReasonCredits. It does not change a paused monitor. It sets Since of each account to the
// time up to which polls have read the account. So after Restore, unlike after Resume, the
// monitor finds the posts that were published during the pause, as far back as polls reach.
func (m *Manager) Suspend(ctx context.Context, owner, id, reason string) (Monitor, error) {
	mon, err := m.base.Suspend(ctx, owner, id, reason)
	return m.effective(mon), err
}

// Restore resumes a monitor that was suspended for the given reason. It does not change any other
// monitor.
func (m *Manager) Restore(ctx context.Context, owner, id, reason string) (Monitor, error) {
	mon, err := m.base.Restore(ctx, owner, id, reason)
	return m.effective(mon), err
}

// Delete removes a monitor and its endpoints. Its events stay in the logs.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	return m.DeleteVersion(ctx, owner, id, 0)
}

// DeleteVersion deletes a monitor like Delete, but returns ErrConflict if the monitor has another
// version. 0 means any version.
func (m *Manager) DeleteVersion(ctx context.Context, owner, id string, version int64) error {
	return m.base.Delete(ctx, owner, id, version)
}
