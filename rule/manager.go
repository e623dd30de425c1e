package rule

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/rule/query"
	"github.com/streamwatch/streamwatch/secret"
)

// Tracker is told of each change, so that it takes effect while the engine
// runs.
type Tracker interface {
	// Track begins or renews the running of an active rule; p is its query.
	Track(ctx context.Context, r Rule, p *query.Program) error
	// Untrack ends it: when it returns, nothing is detected for the rule any
	// more. A rule that is not tracked is fine.
	Untrack(ctx context.Context, id string) error
	// ReadUntil tells until when a tracked rule has got what was published, also what
	// becomes visible late; zero when that is not known, or nothing was read.
	ReadUntil(ctx context.Context, id string) (time.Time, error)
}

// Webhooks keeps the endpoint that a rule's webhook_url makes.
type Webhooks interface {
	// Check reports what is wrong with a URL and a signing secret ("" for none).
	Check(url string, key secret.Value) error
	// Change makes (from ""), moves or removes (to "") the endpoint. The secret
	// replaces the one there is; "" keeps it, or has one generated, which is
	// then returned.
	Change(ctx context.Context, r Rule, from, to string, key secret.Value) (generated secret.Value, err error)
	// Unbind removes all endpoints of the rule.
	Unbind(ctx context.Context, r Rule) error
}

// Config sets up a Manager. The zero value of each field means its default.
type Config struct {
	// Store, Tracker and Webhooks are required.
	Store    Store
	Tracker  Tracker
	Webhooks Webhooks
	// Parse says how queries are read. Its MaxLength is at most MaxQuery, its
	// Now is the manager's to set.
	Parse query.Options
	// MinInterval is the shortest interval allowed. Defaults to MinInterval.
	MinInterval time.Duration
	// Admit, if set, is asked before a rule is made, and before a change of one,
	// which may be a Restore, is stored; was is nil for one that is made. Its error
	// refuses the change, of which nothing is left. done is called when the change
	// is stored or has failed. It must not call the manager.
	Admit func(ctx context.Context, was *Rule, is Rule) (done func(), err error)
	// ChangeTimeout bounds what Create and Update do once they have their turn.
	// Defaults to 10 s.
	ChangeTimeout time.Duration
	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now stamps. Defaults to time.Now.
	Now func() time.Time
}

// Manager creates and changes rules. Its methods are safe for concurrent use;
// changes are made one after the other.
type Manager struct {
	cfg      Config
	turn     chan struct{} // held by the change under way
	troubles troubles
	paces    paces
}

// NewManager checks cfg and returns a manager. It starts nothing: see Run.
func NewManager(cfg Config) (*Manager, error) {
	if cfg.Store == nil || cfg.Tracker == nil || cfg.Webhooks == nil {
		return nil, errors.New("rule: Manager needs a Store, a Tracker and Webhooks")
	}
	if cfg.MinInterval == 0 {
		cfg.MinInterval = MinInterval
	}
	if cfg.MinInterval < MinInterval || cfg.MinInterval > MaxInterval {
		return nil, fmt.Errorf("rule: MinInterval %s is not allowed: want %s to %s", cfg.MinInterval, MinInterval, MaxInterval)
	}
	if cfg.Parse.MaxLength < 0 || cfg.Parse.MaxLength > query.MaxQuery {
		return nil, fmt.Errorf("rule: Parse.MaxLength %d is not allowed: want 1 to %d, or 0 for that", cfg.Parse.MaxLength, query.MaxQuery)
	}
	if cfg.ChangeTimeout <= 0 {
		cfg.ChangeTimeout = 10 * time.Second
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Parse.Now = cfg.Now
	if cfg.Admit == nil {
		cfg.Admit = func(context.Context, *Rule, Rule) (func(), error) { return func() {}, nil }
	}
	m := &Manager{cfg: cfg, turn: make(chan struct{}, 1)}
	m.troubles.bell = make(chan struct{}, 1)
	return m, nil
}

// CreateRequest asks for a rule.
type CreateRequest struct {
	Owner         string        // whose it is; "" is fine for a single-tenant program
	Tag           string        // 1 to 100 characters, unique per owner
	Query         string        // in Config.Parse's dialect
	Interval      time.Duration // either this
	Schedule      string        // or this: see ParseSchedule
	MaxResults    int           // 1 to 100; 0 means 20
	WebhookURL    string        // "" for none
	WebhookSecret secret.Value  // "" to have one generated
}

// Created is a new rule.
type Created struct {
	Rule
	// WebhookSecret is the generated signing secret, "" if one was given. It
	// is shown only here; convert it to a string to see it.
	WebhookSecret secret.Value
}

// Create makes a rule and begins to run it. Posts published from now on are its
// events. On an error nothing is left behind.
func (m *Manager) Create(ctx context.Context, q CreateRequest) (Created, error) {
	r := Rule{Owner: q.Owner, Tag: q.Tag, Query: q.Query, Interval: q.Interval, Schedule: q.Schedule, MaxResults: q.MaxResults,
		WebhookURL: q.WebhookURL, WebhookSecretSet: q.WebhookURL != "", Status: Active, Version: 1}
	if r.MaxResults == 0 {
		r.MaxResults = DefaultResults
	}
	p, err := m.check(&r, q.WebhookSecret)
	if err == nil {
		err = m.checkPace(&r)
	}
	if err != nil {
		return Created{}, err
	}
	r.ID = "rul_" + strings.ToLower(rand.Text())
	unlock, err := m.lock(ctx)
	if err != nil {
		return Created{}, err
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(ctx, m.cfg.ChangeTimeout)
	defer cancel()
	now := m.cfg.Now().UTC() // after the wait: from here on posts are its events
	r.CreatedAt, r.UpdatedAt, r.Since = now, now, now
	done, err := m.cfg.Admit(ctx, nil, r)
	if err != nil {
		return Created{}, err
	}
	defer done()
	// The endpoint comes first: a rule without it would lose its first events,
	// an endpoint without a rule only waits.
	var generated secret.Value
	if r.WebhookURL != "" {
		if generated, err = m.cfg.Webhooks.Change(ctx, r, "", r.WebhookURL, q.WebhookSecret); err != nil {
			return Created{}, err
		}
	}
	if err = m.cfg.Store.Create(ctx, r); err == nil {
		if err = m.cfg.Tracker.Track(ctx, r, p); err == nil {
			return Created{Rule: r, WebhookSecret: generated}, nil
		}
	}
	return Created{}, errors.Join(err, m.undo(ctx, r))
}

// undo removes what a failed Create left.
func (m *Manager) undo(ctx context.Context, r Rule) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	err := m.cfg.Tracker.Untrack(ctx, r.ID)
	if derr := m.cfg.Store.Delete(ctx, r.Owner, r.ID); !errors.Is(derr, ErrNotFound) {
		err = errors.Join(err, derr)
	}
	if r.WebhookURL != "" {
		err = errors.Join(err, m.cfg.Webhooks.Unbind(ctx, r))
	}
	return err
}

// Parse reads a query as the manager does for a rule: what it refuses, Create
// does. See the function Parse.
func (m *Manager) Parse(text string) (*query.Program, []query.Warning, error) {
	return query.Parse(text, m.cfg.Parse)
}

// Get reads a rule; ErrNotFound for an id that is unknown or another's.
func (m *Manager) Get(ctx context.Context, owner, id string) (Rule, error) {
	return m.cfg.Store.Get(ctx, owner, id)
}

// List gives a page of an owner's rules, oldest first.
func (m *Manager) List(ctx context.Context, q Query) (Page, error) {
	if q.Page == 0 {
		q.Page = 1
	}
	if q.PageSize == 0 {
		q.PageSize = 20
	}
	switch {
	case q.Page < 1:
		return Page{}, invalid.Field("rule", "page", fmt.Sprint(q.Page), "at least 1")
	case q.PageSize < 1 || q.PageSize > 100:
		return Page{}, invalid.Field("rule", "page_size", fmt.Sprint(q.PageSize), "1 to 100")
	case q.Status != "" && q.Status != Active && q.Status != Paused:
		return Page{}, invalid.Field("rule", "status", clip(string(q.Status)), `"active" or "paused"`)
	}
	p, err := m.cfg.Store.List(ctx, q)
	p.Page, p.PageSize = q.Page, q.PageSize
	return p, err
}

// Delete ends a rule and removes its endpoints. What it detected stays in the
// logs.
func (m *Manager) Delete(ctx context.Context, owner, id string) error {
	return m.DeleteVersion(ctx, owner, id, 0)
}

// DeleteVersion is Delete of a rule that has not been changed since it had the
// version: ErrConflict when it has. 0 deletes it as it is.
func (m *Manager) DeleteVersion(ctx context.Context, owner, id string, version int64) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := m.cfg.Store.Get(ctx, owner, id)
	if err != nil {
		return err
	}
	if version != 0 && version != r.Version {
		return ErrConflict
	}
	if err = m.cfg.Tracker.Untrack(ctx, id); err == nil {
		if err = m.cfg.Webhooks.Unbind(ctx, r); err == nil {
			err = m.cfg.Store.Delete(ctx, owner, id)
		}
	}
	if err != nil {
		if r.Status == Active { // it stays, so it runs
			err = errors.Join(err, m.apply(context.WithoutCancel(ctx), r))
		}
		return err
	}
	m.troubles.forget(id)
	return nil
}

// Each calls fn for every rule of every owner, while no change is made. An error
// ends it.
func (m *Manager) Each(ctx context.Context, fn func(Rule) error) error {
	unlock, err := m.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	var all []Rule // fn must not run inside the store
	if err := m.cfg.Store.Scan(ctx, func(r Rule) error {
		all = append(all, r)
		return nil
	}); err != nil {
		return err
	}
	for _, r := range all {
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

// apply has the tracker follow a rule as it is.
func (m *Manager) apply(ctx context.Context, r Rule) error {
	if r.Status != Active {
		m.troubles.forget(r.ID)
		return m.cfg.Tracker.Untrack(ctx, r.ID)
	}
	p, _, err := m.Parse(r.Query)
	if err != nil {
		return err
	}
	return m.cfg.Tracker.Track(ctx, r, p)
}

func (m *Manager) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case m.turn <- struct{}{}:
		return func() { <-m.turn }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("rule: %w", context.Cause(ctx))
	}
}
