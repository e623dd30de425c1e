package monitor

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// CreateRequest asks for a monitor.
type CreateRequest struct {
	Owner         string // whose it is; "" is fine for a single-tenant program
	Name          string // 1 to 100 characters, unique per owner
	Usernames     []string
	FilterTypes   []FilterType  // none means all
	PollInterval  time.Duration // 0 means the default: see Config.Paced
	Weight        float64       // 0 to 1,000; 0 means 1
	WebhookURL    string        // "" for none
	WebhookSecret secret.Value  // "" to have one generated
}

// Created is a new monitor.
type Created struct {
	Monitor
	// WebhookSecret is the generated signing secret, "" if one was given. It
	// is shown only here; convert it to a string to see it.
	WebhookSecret secret.Value
}

// Create makes a monitor and begins to watch its accounts. Posts published
// from now on are its events. On an error nothing is left behind.
func (m *Manager) Create(ctx context.Context, r CreateRequest) (Created, error) {
	mon := Monitor{Owner: r.Owner, Name: r.Name, FilterTypes: r.FilterTypes, PollInterval: r.PollInterval, Weight: r.Weight,
		WebhookURL: r.WebhookURL, WebhookSecretSet: r.WebhookURL != "", Status: Active, Version: 1}
	err := m.checkInterval(mon.PollInterval)
	if err != nil {
		return Created{}, err
	}
	if mon.Accounts, err = m.accounts(r.Usernames, nil, time.Time{}); err != nil {
		return Created{}, err
	}
	if err := m.check(&mon, r.WebhookSecret); err != nil {
		return Created{}, err
	}
	mon.ID = "mon_" + strings.ToLower(rand.Text())
	unlock, err := m.lock(ctx)
	if err != nil {
		return Created{}, err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ChangeTimeout)
	defer cancel()
	now := m.cfg.Now().UTC() // after the wait: from here on posts are its events
	mon.CreatedAt, mon.UpdatedAt = now, now
	for i := range mon.Accounts {
		mon.Accounts[i].Since = now
	}
	done, err := m.cfg.Admit(ctx, nil, mon)
	if err != nil {
		return Created{}, err
	}
	defer done()
	// The endpoint comes first: a monitor without it would lose its first
	// events, an endpoint without a monitor only waits.
	var generated secret.Value
	if mon.WebhookURL != "" {
		if generated, err = m.cfg.Webhooks.Change(ctx, mon, "", mon.WebhookURL, r.WebhookSecret); err != nil {
			return Created{}, err
		}
	}
	if err = m.cfg.Store.Create(ctx, mon); err == nil {
		mon = m.effective(mon)
		if err = m.cfg.Tracker.Track(ctx, mon); err == nil {
			return Created{Monitor: mon, WebhookSecret: generated}, nil
		}
	}
	return Created{}, errors.Join(err, m.undo(ctx, mon))
}

// undo removes what a failed Create left.
func (m *Manager) undo(ctx context.Context, mon Monitor) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := m.cfg.Tracker.Untrack(ctx, mon.ID)
	if derr := m.cfg.Store.Delete(ctx, mon.Owner, mon.ID); !errors.Is(derr, ErrNotFound) {
		err = errors.Join(err, derr)
	}
	if mon.WebhookURL != "" {
		err = errors.Join(err, m.cfg.Webhooks.Unbind(ctx, mon))
	}
	return err
}
