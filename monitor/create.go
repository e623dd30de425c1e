package monitor

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// CreateRequest asks for a monitor.
type CreateRequest struct {
	Owner         string        // may be "" in a program with one owner
	Name          string        // 1 to 100 characters, unique per owner
	Usernames     []string      // see fetcher.TimelineQuery.Username; with or without @
	FilterTypes   []FilterType  // none means all
	PollInterval  time.Duration // 0 means the default: see Config.Paced
	Weight        float64       // 0 to 1,000; 0 means 1
	WebhookURL    string        // "" for none
	WebhookSecret secret.Value  // signing secret; "" to generate one
}

// Created is a new monitor.
type Created struct {
	Monitor
	// WebhookSecret is the generated signing secret, or "" if the request had one. It is shown
	// only here. Convert it to a string to see it.
	WebhookSecret secret.Value
}

// Create creates a monitor and starts to watch its accounts for posts published from now
// on. After an error the monitor does not exist.
func (m *Manager) Create(ctx context.Context, r CreateRequest) (Created, error) {
	if err := m.checkInterval(r.PollInterval); err != nil {
		return Created{}, err
	}
	accounts, err := m.accounts(r.Usernames, nil, time.Time{})
	if err != nil {
		return Created{}, err
	}
	mon, generated, err := m.base.Create(ctx, Monitor{Owner: r.Owner, Name: r.Name, Accounts: accounts, FilterTypes: r.FilterTypes,
		PollInterval: r.PollInterval, Weight: r.Weight, WebhookURL: r.WebhookURL}, r.WebhookSecret)
	return Created{m.effective(mon), generated}, err
}
