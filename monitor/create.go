package monitor

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/secret"
)

// CreateRequest asks for a monitor.
type CreateRequest struct {
	Owner         string         // may be "" in a program with one owner
	Name          string         // 1 to 100 characters, unique per owner
	Usernames     []string       // see fetcher.TimelineQuery.Username; with or without @
	FilterTypes   []FilterType   // none means all
	PollInterval  time.Duration  // 0 means the default: see Config.Paced
	Weight        float64        // 0 to 1,000; 0 means 1
	WebhookURL    string         // "" for none
	WebhookSecret secret.Value   // signing secret; "" to generate one
	WebhookLimits deliver.Limits // of the webhook's requests
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
	mon, err := m.requested(r)
	if err != nil {
		return Created{}, err
	}
	mon, generated, err := m.base.Create(ctx, mon, control.Webhook{Secret: r.WebhookSecret, Limits: r.WebhookLimits})
	return Created{m.effective(mon), generated}, err
}

// Ensure creates the monitor, or makes the owner's monitor of this Name equal to the request, which
// a program may call at each start and in several processes. A zero field means what it means for
// Create, except that an endpoint keeps its limits and, without a WebhookSecret, its secret. Accounts that stay keep
// their Since, and a paused monitor stays paused. A monitor that is equal already is not stored
// again and costs nothing. Errors are those of Create and Update.
func (m *Manager) Ensure(ctx context.Context, r CreateRequest) (Created, error) {
	want, err := m.requested(r)
	if err != nil {
		return Created{}, err
	}
	mon, generated, err := m.base.Ensure(ctx, want, r.Name, control.Webhook{Secret: r.WebhookSecret, Limits: r.WebhookLimits}, func(mon *Monitor, now time.Time) error {
		if !sameMembers(mon.Accounts, want.Accounts, func(a Account) string { return m.key(a.Username) }) {
			mon.Accounts, err = m.accounts(r.Usernames, mon.Accounts, now)
		}
		if !sameMembers(mon.FilterTypes, want.FilterTypes, func(f FilterType) FilterType { return f }) {
			mon.FilterTypes = want.FilterTypes
		}
		mon.PollInterval, mon.Weight = want.PollInterval, want.Weight
		return err
	})
	return Created{m.effective(mon), generated}, err
}

// requested returns the monitor of a request.
func (m *Manager) requested(r CreateRequest) (Monitor, error) {
	if err := m.checkInterval(r.PollInterval); err != nil {
		return Monitor{}, err
	}
	accounts, err := m.accounts(r.Usernames, nil, time.Time{})
	return Monitor{Owner: r.Owner, Name: r.Name, Accounts: accounts, FilterTypes: r.FilterTypes,
		PollInterval: r.PollInterval, Weight: r.Weight, WebhookURL: r.WebhookURL}, err
}

// sameMembers reports whether two lists have the same members, in whatever order.
func sameMembers[T any, K comparable](a, b []T, key func(T) K) bool {
	in := map[K]bool{}
	for _, v := range a {
		in[key(v)] = true
	}
	return len(a) == len(b) && !slices.ContainsFunc(b, func(v T) bool { return !in[key(v)] })
}
