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
	// Track starts to watch an active monitor, or updates one.
	Track(ctx context.Context, m Monitor) error
	// Untrack ends it: when it returns, nothing is detected for the monitor any more.
	// It does nothing for a monitor that is not tracked.
	Untrack(ctx context.Context, id string) error
	// ReadUntil returns, by the Key of its Canonical name, until when each account of a
	// tracked monitor has been read, the overlap included. Accounts that were not read, or for which this
	// is unknown, are missing.
	ReadUntil(ctx context.Context, m Monitor) (map[string]time.Time, error)
}

// Webhooks keeps the endpoint that a monitor's webhook_url makes.
type Webhooks interface {
	// Check reports what is wrong with a URL and a signing secret ("" for none).
	Check(url string, key secret.Value) error
	// Change makes (from ""), moves or removes (to "") the endpoint. The secret
	// replaces the one there is; "" keeps it, or has one generated, which is
	// then returned.
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
	// DefaultInterval is used when a request names none. Defaults to 60 s.
	DefaultInterval time.Duration
	// Paced means that a budget sets the pace: a request without an interval
	// gets none, and DefaultInterval is not used.
	Paced bool
	// MinInterval is the shortest allowed. Defaults to 1 s.
	MinInterval time.Duration
	// CheckAccount, if set, is asked whether there can be an account with such a name;
	// its error says which names there can be. Defaults to any.
	CheckAccount func(username string) error
	// Canonical, if set, returns the one name of an account that has several, so that a
	// monitor has each account once. Defaults to the name as it is.
	Canonical func(username string) string
	// Admit, if set, is called before a monitor is created or changed, which includes
	// Restore; was is nil for a new one. An error refuses the change and leaves
	// nothing of it. done is called when the change has been stored or has failed.
	// Admit must not call the manager.
	Admit func(ctx context.Context, was *Monitor, is Monitor) (done func(), err error)
	// Created, if set, is called after a monitor was created: other processes may be told.
	Created func()
	// Settle, if set, is called after a monitor was updated or deleted, and waits until
	// that is in effect in all processes. Its error says that it is not; the change is
	// stored.
	Settle func(ctx context.Context) error
	// ChangeTimeout bounds a change, without the wait for changes before it. Defaults
	// to 10 s.
	ChangeTimeout time.Duration
	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now stamps. Defaults to time.Now.
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

// Get reads a monitor; ErrNotFound for an id that is unknown or another's.
func (m *Manager) Get(ctx context.Context, owner, id string) (Monitor, error) {
	mon, err := m.cfg.Store.Get(ctx, owner, id)
	return m.effective(mon), err
}

// effective resolves what a stored monitor leaves to the manager: an interval
// that was not asked for is the default of whoever runs it.
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

// Each calls fn for every monitor of every owner. Changes wait meanwhile. An error
// ends it.
func (m *Manager) Each(ctx context.Context, fn func(Monitor) error) error {
	return m.control.Each(ctx, func(mon Monitor) error { return fn(m.effective(mon)) })
}

// Follow has the Tracker follow a monitor as it is stored, which another process may have
// changed or deleted.
func (m *Manager) Follow(ctx context.Context, owner, id string) error {
	return m.control.Follow(ctx, owner, id)
}

// Run writes reported troubles into the monitors' status reasons until ctx
// ends. It may be called once.
func (m *Manager) Run(ctx context.Context) error { return m.control.Run(ctx) }

// Forget drops what Report was told of accounts that another process reads from now on,
// and leaves the stored reasons to that.
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
