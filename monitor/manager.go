package monitor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/secret"
)

// Tracker is told of each change, so that it takes effect while the engine
// runs.
type Tracker interface {
	// Track starts to watch the accounts of an active monitor, or changes a monitor that is
	// tracked.
	Track(ctx context.Context, m Monitor) error
	// Untrack ends that: when it returns, nothing is detected for the monitor any more.
	// It does nothing for a monitor that is not tracked.
	Untrack(ctx context.Context, id string) error
	// ReadUntil returns the time up to which each account of a tracked monitor has been
	// read, the overlap included, by the Key of the account's Canonical name. Accounts
	// that were not read, or for which this is unknown, are missing.
	ReadUntil(ctx context.Context, m Monitor) (map[string]time.Time, error)
}

// Webhooks keeps the endpoints of monitors: each webhook_url has one.
type Webhooks interface {
	// Check reports what is wrong with a URL and a signing secret ("" for none).
	Check(url string, key secret.Value) error
	// Change makes the endpoint of a monitor (from is ""), gives it another URL, or
	// removes it (to is ""). A key replaces the signing secret; "" keeps it, or
	// for a new endpoint has one generated, which is returned.
	Change(ctx context.Context, m Monitor, from, to string, key secret.Value) (generated secret.Value, err error)
	// Unbind removes all endpoints of the monitor.
	Unbind(ctx context.Context, m Monitor) error
}

// Config sets up a Manager. The zero value of each field means its default.
type Config struct {
	// Store, Tracker and Webhooks are required.
	Store    Store
	Tracker  Tracker
	Webhooks Webhooks
	// MaxAccounts bounds the accounts of a monitor. Defaults to 100.
	MaxAccounts int
	// DefaultInterval is the interval of a monitor that is created without one. Defaults
	// to 60 s.
	DefaultInterval time.Duration
	// Paced means that a budget sets the pace: a monitor that is created without an
	// interval has none, and DefaultInterval is not used.
	Paced bool
	// MinInterval is the shortest interval allowed. Defaults to 1 s.
	MinInterval time.Duration
	// CheckAccount, if set, returns an error for a name that no account can have, which
	// says what names are like. Defaults to allowing all names.
	CheckAccount func(username string) error
	// Canonical, if set, returns the same name for all names of an account, so that a
	// monitor has each account once. Defaults to the name unchanged.
	Canonical func(username string) string
	// Admit, if set, is called before a monitor is created or changed, which includes
	// Restore; was is nil for a new one. An error refuses the change, which then has no
	// effect. done is called when the change has been stored or has failed.
	// Admit must not call the manager.
	Admit func(ctx context.Context, was *Monitor, is Monitor) (done func(), err error)
	// Created, if set, is called after a monitor was created, so that the program can tell
	// other processes.
	Created func()
	// Settle, if set, is called after a monitor was updated or deleted, and waits until
	// the change is in effect in all processes. An error says that it is stored and not in
	// effect everywhere.
	Settle func(ctx context.Context) error
	// ChangeTimeout bounds a change, not counting the wait for earlier changes.
	// Defaults to 10 s.
	ChangeTimeout time.Duration
	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now is the clock of the times that are stored. Defaults to time.Now.
	Now func() time.Time
}

// MaxInterval is the longest poll interval.
const MaxInterval = 24 * time.Hour

// Manager creates and changes monitors. Its methods are safe for concurrent
// use; changes are made one after the other.
type Manager struct {
	cfg     Config
	control *control.Manager[Monitor, struct{}]
}

// NewManager checks cfg and returns a manager. It starts nothing: see Run.
func NewManager(cfg Config) (*Manager, error) {
	if cfg.Store == nil || cfg.Tracker == nil || cfg.Webhooks == nil {
		return nil, errors.New("monitor: Manager needs a Store, a Tracker and Webhooks")
	}
	if cfg.MaxAccounts == 0 {
		cfg.MaxAccounts = 100
	}
	if cfg.MaxAccounts < 0 {
		return nil, fmt.Errorf("monitor: MaxAccounts %d is not allowed: want a positive number, or 0 for 100", cfg.MaxAccounts)
	}
	if cfg.MinInterval == 0 {
		cfg.MinInterval = time.Second
	}
	if cfg.DefaultInterval == 0 {
		cfg.DefaultInterval = max(time.Minute, cfg.MinInterval)
	}
	if cfg.MinInterval < 0 || cfg.MinInterval > MaxInterval {
		return nil, fmt.Errorf("monitor: MinInterval %s is not allowed: want more than 0 and at most %s", cfg.MinInterval, MaxInterval)
	}
	if cfg.DefaultInterval < cfg.MinInterval || cfg.DefaultInterval > MaxInterval {
		return nil, fmt.Errorf("monitor: DefaultInterval %s is not allowed: want %s to %s", cfg.DefaultInterval, cfg.MinInterval, MaxInterval)
	}
	if cfg.Canonical == nil {
		cfg.Canonical = func(username string) string { return username }
	}
	m := &Manager{cfg: cfg}
	m.control = control.New(control.Config[Monitor, struct{}]{
		Kind: m.kind(), Store: cfg.Store, Tracker: tracker{m}, Webhooks: cfg.Webhooks, Admit: cfg.Admit, Created: cfg.Created, Settle: cfg.Settle,
		ChangeTimeout: cfg.ChangeTimeout, Logger: cfg.Logger, Now: cfg.Now,
	})
	return m, nil
}

// Get returns a monitor; ErrNotFound for an id that is unknown or another owner's.
func (m *Manager) Get(ctx context.Context, owner, id string) (Monitor, error) {
	mon, err := m.cfg.Store.Get(ctx, owner, id)
	return m.effective(mon), err
}

// effective returns a stored monitor with this manager's default interval in place of 0.
func (m *Manager) effective(mon Monitor) Monitor {
	if mon.PollInterval == 0 && !m.cfg.Paced && mon.ID != "" {
		mon.PollInterval = m.cfg.DefaultInterval
	}
	return mon
}

// List returns a page of an owner's monitors, oldest first.
func (m *Manager) List(ctx context.Context, q Query) (Page, error) {
	if err := m.control.CheckPage(&q.Page, &q.PageSize, control.Status(q.Status)); err != nil {
		return Page{}, err
	}
	p, err := m.cfg.Store.List(ctx, q)
	for i := range p.Monitors {
		p.Monitors[i] = m.effective(p.Monitors[i])
	}
	p.Page, p.PageSize = q.Page, q.PageSize
	return p, err
}

// Each calls fn for every monitor of every owner, until fn returns an error, which Each
// returns. Changes wait meanwhile.
func (m *Manager) Each(ctx context.Context, fn func(Monitor) error) error {
	return m.control.Each(ctx, func(mon Monitor) error { return fn(m.effective(mon)) })
}

// Follow has the Tracker follow a monitor as it is stored, which another process may have
// changed or deleted.
func (m *Manager) Follow(ctx context.Context, owner, id string) error {
	return m.control.Follow(ctx, owner, id)
}

// Run stores what Report is told in the monitors' StatusReason, until ctx ends. It may be
// called once.
func (m *Manager) Run(ctx context.Context) error { return m.control.Run(ctx) }

// Forget drops what Report was told of accounts that another process polls from now on. That
// process writes the stored reasons then.
func (m *Manager) Forget(elsewhere func(username string) bool) {
	m.control.Forget(func(_, what string) bool { return what != "" && elsewhere(what[1:]) })
}

// Report notes that an account of a monitor fails permanently or, with a nil error,
// that it has recovered. It does not block; Run stores it.
func (m *Manager) Report(owner, id, username string, err error) {
	m.control.Report(owner, id, "@"+username, err)
}

// Refused notes that a stored monitor cannot be run as it is or, with a nil error, that it
// can. It does not block; Run stores it.
func (m *Manager) Refused(owner, id string, err error) { m.control.Report(owner, id, "", err) }
