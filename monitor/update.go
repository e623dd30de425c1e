package monitor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
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
	// Version is that of the monitor which the request was made for: ErrConflict
	// when it has been changed since. 0 changes it as it is.
	Version int64
}

// Updated is a changed monitor.
type Updated struct {
	Monitor
	// WebhookSecret is a generated secret, as in Created.
	WebhookSecret secret.Value
}

// Update changes a monitor. Accounts that stay keep their history; posts of
// new ones, and of all after a resume, count from now on, unless it was paused
// for lack of credits: then they count on. An error that comes
// with the changed monitor says that it is stored and not in effect yet.
func (m *Manager) Update(ctx context.Context, owner, id string, r UpdateRequest) (Updated, error) {
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
	if r.Version != 0 && r.Version != old.Version {
		return Updated{}, ErrConflict
	}
	mon, key, err := m.changed(old, r)
	if err != nil {
		return Updated{}, err
	}
	done, err := m.cfg.Admit(ctx, &old, mon)
	if err != nil {
		return Updated{}, err
	}
	defer done()
	out := Updated{}
	if err := m.cfg.Store.Update(ctx, mon); err != nil {
		return out, err
	}
	mon.Version++
	if r.WebhookURL != nil || key != "" {
		if out.WebhookSecret, err = m.cfg.Webhooks.Change(ctx, mon, old.WebhookURL, mon.WebhookURL, key); err != nil {
			old.Version = mon.Version
			return Updated{}, errors.Join(err, m.cfg.Store.Update(context.WithoutCancel(ctx), old))
		}
	}
	m.troubles.keep(&mon)
	out.Monitor = m.effective(mon)
	if err := m.apply(ctx, mon); err != nil {
		return out, fmt.Errorf("monitor: the change is stored and not in effect yet, the same call again completes it: %w", err)
	}
	return out, nil
}

// changed applies a request to a copy of the monitor and checks the result.
func (m *Manager) changed(old Monitor, r UpdateRequest) (mon Monitor, key secret.Value, err error) {
	mon = old
	now := m.cfg.Now().UTC()
	mon.UpdatedAt = now
	if r.Name != nil {
		mon.Name = *r.Name
	}
	if r.FilterTypes != nil {
		mon.FilterTypes = *r.FilterTypes
	}
	if r.PollInterval != nil {
		mon.PollInterval = *r.PollInterval
		if err := m.checkInterval(mon.PollInterval); err != nil {
			return mon, "", err
		}
	}
	if r.Weight != nil {
		mon.Weight = *r.Weight
	}
	if r.WebhookURL != nil {
		mon.WebhookURL = *r.WebhookURL
		mon.WebhookSecretSet = mon.WebhookURL != ""
	}
	if r.WebhookSecret != nil {
		if key = *r.WebhookSecret; key == "" || mon.WebhookURL == "" {
			return mon, "", invalid.Field("monitor", "webhook_secret", secret.Redacted, "24 to 128 characters, for a monitor with a webhook_url")
		}
	}
	if r.Usernames != nil {
		if mon.Accounts, err = m.accounts(*r.Usernames, old.Accounts, now); err != nil {
			return mon, "", err
		}
	}
	// Who pauses what the program has suspended means it for good.
	if r.Status != nil && (*r.Status != old.Status || *r.Status == Paused && old.StatusReason != ReasonUser) {
		mon.Status, mon.StatusReason = *r.Status, ""
		if mon.Status == Paused {
			mon.StatusReason = ReasonUser
		} else if old.StatusReason != ReasonCredits { // or what was published since would be lost
			mon.Accounts = append([]Account(nil), mon.Accounts...)
			for i := range mon.Accounts {
				mon.Accounts[i].Since = now
			}
		}
	}
	return mon, key, m.check(&mon, key)
}

// Pause stops the watching: when it returns, nothing is detected any more.
func (m *Manager) Pause(ctx context.Context, owner, id string) (Monitor, error) {
	return m.setStatus(ctx, owner, id, Paused)
}

// Resume goes on with what is published from now on.
func (m *Manager) Resume(ctx context.Context, owner, id string) (Monitor, error) {
	return m.setStatus(ctx, owner, id, Active)
}

func (m *Manager) setStatus(ctx context.Context, owner, id string, s Status) (Monitor, error) {
	u, err := m.Update(ctx, owner, id, UpdateRequest{Status: &s})
	return u.Monitor, err
}
