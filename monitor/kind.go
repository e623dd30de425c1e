package monitor

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// kind describes monitors to package control.
func (m *Manager) kind() control.Kind[Monitor, struct{}] {
	return control.Kind[Monitor, struct{}]{
		Kind: record.Monitor, Prefix: "mon_", ErrNotFound: ErrNotFound, ErrDuplicate: ErrDuplicate, ErrConflict: ErrConflict,
		Encode: Monitor.Record, Decode: FromRecord,
		Head: func(mon *Monitor) control.Head {
			return control.Head{ID: &mon.ID, Owner: &mon.Owner, WebhookURL: &mon.WebhookURL, WebhookID: &mon.WebhookID, WebhookSecretSet: &mon.WebhookSecretSet,
				Status: (*control.Status)(&mon.Status), StatusReason: &mon.StatusReason,
				CreatedAt: &mon.CreatedAt, UpdatedAt: &mon.UpdatedAt, ResumedAt: &mon.ResumedAt, Version: &mon.Version}
		},
		Check:   func(mon *Monitor) (struct{}, error) { return struct{}{}, check(mon) },
		Parse:   func(*Monitor) (struct{}, error) { return struct{}{}, nil },
		Restart: restart,
		Advance: m.advance,
		Affects: m.affects,
	}
}

// affects reports whether a monitor has the account of a failure.
func (m *Manager) affects(mon *Monitor, what string) bool {
	return slices.ContainsFunc(mon.Accounts, func(a Account) bool { return m.key(a.Username) == m.key(strings.TrimPrefix(what, "@")) })
}

// restart sets Since of all accounts to now. Only posts published from now on become events.
func restart(mon *Monitor, now time.Time) {
	mon.Accounts = slices.Clone(mon.Accounts)
	for i := range mon.Accounts {
		mon.Accounts[i].Since = now
	}
}

// advance sets Since of each account to the time up to which polls have read it.
func (m *Manager) advance(ctx context.Context, mon *Monitor) error {
	until, err := m.cfg.Tracker.ReadUntil(ctx, *mon)
	if err != nil {
		return err
	}
	mon.Accounts = slices.Clone(mon.Accounts)
	for i := range mon.Accounts {
		a := &mon.Accounts[i]
		if at := until[m.key(a.Username)].UTC(); at.After(a.Since) {
			a.Since = at
		}
	}
	return nil
}

// tracker passes monitors to the manager's Tracker, with the default interval filled in.
type tracker struct{ m *Manager }

func (t tracker) Track(ctx context.Context, mon Monitor, _ struct{}, how control.Start) error {
	return t.m.cfg.Tracker.Track(ctx, t.m.effective(mon), how)
}

func (t tracker) Untrack(ctx context.Context, id string) error {
	return t.m.cfg.Tracker.Untrack(ctx, id)
}
