package monitor

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/secret"
)

// Tracker is told of each change, so that it takes effect while the engine
// runs.
type Tracker interface {
	// Track begins or renews the watching of an active monitor.
	Track(ctx context.Context, m Monitor) error
	// Untrack ends it: when it returns, nothing is detected for the monitor
	// any more. A monitor that is not tracked is fine.
	Untrack(ctx context.Context, id string) error
	// ReadUntil tells until when a tracked monitor has got what its accounts
	// published, also what becomes visible late, by Key; those are missing of which
	// it is not known, or that were not read.
	ReadUntil(ctx context.Context, id string) (map[string]time.Time, error)
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
	// Admit, if set, is asked before a monitor is made, and before a change of one,
	// which may be a Restore, is stored; was is nil for one that is made. Its error
	// refuses the change, of which nothing is left. done is called when the change
	// is stored or has failed. It must not call the manager.
	Admit func(ctx context.Context, was *Monitor, is Monitor) (done func(), err error)
	// CreateTimeout bounds what Create does once it has its turn. Defaults to 10 s.
	CreateTimeout time.Duration
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
	cfg      Config
	turn     chan struct{} // held by the change under way
	troubles troubles
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
	if cfg.CreateTimeout <= 0 {
		cfg.CreateTimeout = 10 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Admit == nil {
		cfg.Admit = func(context.Context, *Monitor, Monitor) (func(), error) { return func() {}, nil }
	}
	m := &Manager{cfg: cfg, turn: make(chan struct{}, 1)}
	m.troubles.bell = make(chan struct{}, 1)
	return m, nil
}

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
	ctx, cancel := context.WithTimeout(ctx, m.cfg.CreateTimeout)
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

// List gives a page of an owner's monitors, oldest first.
func (m *Manager) List(ctx context.Context, q Query) (Page, error) {
	if q.Page == 0 {
		q.Page = 1
	}
	if q.PageSize == 0 {
		q.PageSize = 20
	}
	switch {
	case q.Page < 1:
		return Page{}, &FieldError{"page", fmt.Sprint(q.Page), "at least 1"}
	case q.PageSize < 1 || q.PageSize > 100:
		return Page{}, &FieldError{"page_size", fmt.Sprint(q.PageSize), "1 to 100"}
	case q.Status != "" && q.Status != Active && q.Status != Paused:
		return Page{}, &FieldError{"status", string(q.Status), `"active" or "paused"`}
	}
	p, err := m.cfg.Store.List(ctx, q)
	for i := range p.Monitors {
		p.Monitors[i] = m.effective(p.Monitors[i])
	}
	p.Page, p.PageSize = q.Page, q.PageSize
	return p, err
}

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
			return mon, "", &FieldError{"webhook_secret", secret.Redacted, "24 to 128 characters, for a monitor with a webhook_url"}
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

// Delete ends a monitor and removes its endpoints. What it detected stays in
// the logs.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	return m.DeleteVersion(ctx, owner, id, 0)
}

// DeleteVersion is Delete of a monitor that has not been changed since it had
// the version: ErrConflict when it has. 0 deletes it as it is.
func (m *Manager) DeleteVersion(ctx context.Context, owner, id string, version int64) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	mon, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return err
	}
	if version != 0 && version != mon.Version {
		return ErrConflict
	}
	if err = m.cfg.Tracker.Untrack(ctx, id); err == nil {
		if err = m.cfg.Webhooks.Unbind(ctx, mon); err == nil {
			err = m.cfg.Store.Delete(ctx, owner, id)
		}
	}
	if err != nil {
		if mon.Status == Active { // it stays, so it is watched
			err = errors.Join(err, m.cfg.Tracker.Track(context.WithoutCancel(ctx), m.effective(mon)))
		}
		return err
	}
	m.troubles.forget(id)
	return nil
}

// Each calls fn for every monitor of every owner, while no change is made. An
// error ends it.
func (m *Manager) Each(ctx context.Context, fn func(Monitor) error) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var all []Monitor // fn must not run inside the store
	if err := m.cfg.Store.Scan(ctx, func(mon Monitor) error {
		all = append(all, m.effective(mon))
		return nil
	}); err != nil {
		return err
	}
	for _, mon := range all {
		if err := fn(mon); err != nil {
			return err
		}
	}
	return nil
}

// apply has the tracker follow a changed monitor.
func (m *Manager) apply(ctx context.Context, mon Monitor) error {
	if mon.Status == Active {
		return m.cfg.Tracker.Track(ctx, m.effective(mon))
	}
	m.troubles.forget(mon.ID)
	return m.cfg.Tracker.Untrack(ctx, mon.ID)
}

func (m *Manager) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case m.turn <- struct{}{}:
		return func() { <-m.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("monitor: %w", context.Cause(ctx))
	}
}
