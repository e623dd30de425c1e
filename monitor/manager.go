package monitor

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
)

// Tracker puts changes of monitors into effect while the engine runs.
type Tracker interface {
	// Track starts to poll the accounts of an active monitor. If a monitor with m's ID is tracked
	// already, Track replaces it with m.
	Track(ctx context.Context, m Monitor, how control.Start) error
	// Untrack stops a monitor. After it returns, no posts are detected for the monitor.
	// It does nothing for a monitor that is not tracked.
	Untrack(ctx context.Context, id string) error
	// ReadUntil returns the times up to which polls have read the accounts of a tracked monitor,
	// less the overlap. A key of the map is the Key of an account's Canonical name. An account is
	// missing if it was not read or the time is unknown.
	ReadUntil(ctx context.Context, m Monitor) (map[string]time.Time, error)
}

// Config sets up a Manager. The zero value of each field means its default.
type Config struct {
	// Records, Tracker and Webhooks are required.
	Records  record.Store
	Tracker  Tracker
	Webhooks control.Webhooks
	// MaxAccounts is the most accounts that a monitor may have. Defaults to 100.
	MaxAccounts int
	// DefaultInterval is the interval of a monitor that is created without one. Defaults
	// to 60 s.
	DefaultInterval time.Duration
	// Paced means that a budget decides how often accounts are polled. DefaultInterval is then
	// not used: a monitor that is created without an interval has none.
	Paced bool
	// MinInterval is the shortest interval allowed. Defaults to 1 s.
	MinInterval time.Duration
	// Shortest, if set, returns how often the accounts can be polled at most. A monitor with a
	// shorter interval gets this one; its record keeps the one that was asked for.
	Shortest func([]Account) time.Duration
	// CheckAccount, if set, returns an error for a name that no account can have. The error tells
	// which names are allowed. By default all names are allowed.
	CheckAccount func(username string) error
	// Canonical, if set, returns the same result for all names of one account. A monitor has each
	// account only once, even under several names. Defaults to the name unchanged.
	Canonical func(username string) string
	// Limits, if set, is called before a monitor is stored: see control.Config. Its error refuses
	// the change.
	Limits func(ctx context.Context, was *Monitor, is Monitor, endpoint bool) ([]control.Limit, error)
	// Price returns the price of a monitor, in thousandths of a credit a day. Defaults to 0.
	Price func(Monitor) int64
	// Applied, if set, waits until a stored change is in effect in this process. Defaults to
	// Follow.
	Applied func(ctx context.Context, owner string, k record.Key) error
	// Logger receives errors that an operator should see. Defaults to none.
	Logger *slog.Logger
	// Now returns the time to store in records. Defaults to time.Now.
	Now func() time.Time
}

// MaxInterval is the longest poll interval.
const MaxInterval = 24 * time.Hour

// base has what the engine calls, such as Follow, Run and Report.
type base = control.Manager[Monitor, struct{}]

// Manager creates and changes monitors. Its methods are safe for concurrent use.
type Manager struct {
	cfg Config
	*base
}

// NewManager checks cfg and returns a manager. It starts nothing.
func NewManager(cfg Config) (*Manager, error) {
	if cfg.Records == nil || cfg.Tracker == nil || cfg.Webhooks == nil {
		return nil, errors.New("monitor: Manager needs Records, a Tracker and Webhooks")
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
	m.base = control.New(control.Config[Monitor, struct{}]{
		Kind: m.kind(), Records: cfg.Records, Tracker: tracker{m}, Webhooks: cfg.Webhooks, Limits: cfg.Limits, Price: cfg.Price,
		Applied: cfg.Applied, Logger: cfg.Logger, Now: cfg.Now,
	})
	return m, nil
}

// Get returns a monitor. It returns ErrNotFound if the owner has none with this id.
func (m *Manager) Get(ctx context.Context, owner, id string) (Monitor, error) {
	mon, err := m.base.Get(ctx, owner, id, 0)
	return m.effective(mon), err
}

// effective returns mon with the manager's default interval in place of an interval of 0, and with
// Config.Shortest in place of a shorter one.
func (m *Manager) effective(mon Monitor) Monitor {
	if mon.PollInterval == 0 && !m.cfg.Paced && mon.ID != "" {
		mon.PollInterval = m.cfg.DefaultInterval
	}
	if mon.PollInterval > 0 && m.cfg.Shortest != nil {
		mon.PollInterval = max(mon.PollInterval, m.cfg.Shortest(mon.Accounts))
	}
	return mon
}

// List yields all monitors of the query's Owner and Status, oldest first, and reads 100 at a time.
// A monitor that matches the whole time comes exactly once, even if the loop deletes some. After an
// error, such as that of an ended context, nothing comes.
func (m *Manager) List(ctx context.Context, q Query) iter.Seq2[Monitor, error] {
	return func(yield func(Monitor, error) bool) {
		for mon, err := range m.base.List(ctx, q.Owner, control.Status(q.Status)) {
			if !yield(m.effective(mon), err) {
				return
			}
		}
	}
}

// Page returns a page of an owner's monitors, oldest first.
func (m *Manager) Page(ctx context.Context, q Query) (Page, error) {
	list, total, err := m.base.Page(ctx, q.Owner, control.Status(q.Status), &q.Page, &q.PageSize)
	if err != nil {
		return Page{}, err
	}
	for i := range list {
		list[i] = m.effective(list[i])
	}
	return Page{Monitors: list, Total: total, Page: q.Page, PageSize: q.PageSize}, nil
}

// Each calls fn for every monitor of every owner. If fn returns an error, Each stops and
// returns it.
func (m *Manager) Each(ctx context.Context, fn func(Monitor) error) error {
	return m.base.Each(ctx, func(mon Monitor) error { return fn(m.effective(mon)) })
}

// Forget drops the errors reported for accounts that another process polls from now on. That
// process then updates the StatusReason of the monitors. elsewhere reports whether an account is
// one of these.
func (m *Manager) Forget(elsewhere func(username string) bool) {
	m.base.Forget(func(_, what string) bool { return elsewhere(what[1:]) })
}

// Report records that an account of a monitor fails permanently or, if err is nil, that the
// account has recovered. Report does not block. Run stores the error.
func (m *Manager) Report(owner, id, username string, err error) {
	m.base.Report(owner, id, "@"+username, err)
}
