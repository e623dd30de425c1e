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
	// Version is the expected version of the monitor: ErrConflict if it has another.
	// 0 stands for any.
	Version int64
}

// Updated is a changed monitor.
type Updated struct {
	Monitor
	// WebhookSecret is a generated secret, as in Created.
	WebhookSecret secret.Value
}

// Update changes a monitor. Accounts that stay keep their Since. Posts of new accounts, and
// of all accounts after a resume, are events if they are published from now on; a monitor
// that was suspended for lack of credits goes on from where its accounts were read. An error
// returned together with a monitor means that the change is stored but not in effect yet.
func (m *Manager) Update(ctx context.Context, owner, id string, r UpdateRequest) (Updated, error) {
	q := control.Request{WebhookURL: r.WebhookURL, WebhookSecret: r.WebhookSecret, Status: (*control.Status)(r.Status), Version: r.Version}
	mon, generated, err := m.control.Update(ctx, owner, id, q, func(mon *Monitor, now time.Time) error { return m.change(mon, r, now) })
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

// Pause stops a monitor: when it returns, nothing is detected any more.
func (m *Manager) Pause(ctx context.Context, owner, id string) (Monitor, error) {
	return m.setStatus(ctx, owner, id, Paused)
}

// Resume restarts a paused monitor with what is published from now on.
func (m *Manager) Resume(ctx context.Context, owner, id string) (Monitor, error) {
	return m.setStatus(ctx, owner, id, Active)
}

func (m *Manager) setStatus(ctx context.Context, owner, id string, s Status) (Monitor, error) {
	u, err := m.Update(ctx, owner, id, UpdateRequest{Status: &s})
	return u.Monitor, err
}

// Suspend pauses an active monitor on behalf of the program and not of its owner, for a
// reason such as ReasonCredits. It does not change a monitor that is paused already. Unlike
// after Pause, posts that are published meanwhile are found after Restore, as far back as
// polls reach: Since of each account becomes the time up to which it was read.
func (m *Manager) Suspend(ctx context.Context, owner, id, reason string) (Monitor, error) {
	mon, err := m.control.Suspend(ctx, owner, id, reason)
	return m.effective(mon), err
}

// Restore resumes a monitor that is suspended for that reason, and does not change any
// other.
func (m *Manager) Restore(ctx context.Context, owner, id, reason string) (Monitor, error) {
	mon, err := m.control.Restore(ctx, owner, id, reason)
	return m.effective(mon), err
}

// WebhookMoved stores another webhook_url, "" for none, in a monitor whose
// webhook_url is from: its endpoint was changed or deleted otherwise than through
// the monitor. It reports false for a monitor with another webhook_url and for one
// that does not exist.
func (m *Manager) WebhookMoved(ctx context.Context, owner, id, from, to string) (moved bool, err error) {
	return m.control.WebhookMoved(ctx, owner, id, from, to)
}

// Delete ends a monitor and removes its endpoints. The logs keep what it detected. After an
// error of the store the monitor may still be deleted, some seconds or minutes later.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	return m.DeleteVersion(ctx, owner, id, 0)
}

// DeleteVersion is Delete if the monitor still has that version, and returns
// ErrConflict otherwise; 0 stands for any version.
func (m *Manager) DeleteVersion(ctx context.Context, owner, id string, version int64) error {
	return m.control.Delete(ctx, owner, id, version)
}
