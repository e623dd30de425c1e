package rule

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/rule/query"
	"github.com/streamwatch/streamwatch/secret"
)

// Tracker is told of each change, so that it takes effect while the engine
// runs.
type Tracker interface {
	// Track starts to poll an active rule, or changes one that is tracked; p has its
	// parsed query and schedule.
	Track(ctx context.Context, r Rule, p Parsed) error
	// Untrack ends that: when it returns, nothing is detected for the rule any more.
	// It does nothing for a rule that is not tracked.
	Untrack(ctx context.Context, id string) error
	// ReadUntil returns the time up to which a tracked rule has been read, the overlap
	// included; zero when nothing was read or this is unknown.
	ReadUntil(ctx context.Context, id string) (time.Time, error)
}

// Webhooks keeps the endpoints of rules: each webhook_url has one.
type Webhooks interface {
	// Check reports what is wrong with a URL and a signing secret ("" for none).
	Check(url string, key secret.Value) error
	// Change makes the endpoint of a rule (from is ""), gives it another URL, or
	// removes it (to is ""). A key replaces the signing secret; "" keeps it, or
	// for a new endpoint has one generated, which is returned.
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
	// Parse says how queries are parsed. Its MaxLength is at most query.MaxQuery;
	// NewManager sets its Now.
	Parse query.Options
	// MinInterval is the shortest interval allowed, and the shortest that Manager.Every
	// may return for a schedule. Defaults to MinInterval.
	MinInterval time.Duration
	// Platforms are the names that Rule.Platform may have beside "". Defaults to none.
	Platforms []string
	// Admit, if set, is called before a rule is created or changed, which includes
	// Restore; was is nil for a new one. An error refuses the change, which then
	// has no effect. done is called when the change has been stored or has failed.
	// Admit must not call the manager.
	Admit func(ctx context.Context, was *Rule, is Rule) (done func(), err error)
	// Created, if set, is called after a rule was created, so that the program can tell
	// other processes.
	Created func()
	// Settle, if set, is called after a rule was updated or deleted, and waits until the
	// change is in effect in all processes. An error says that it is stored and not in
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

// Manager creates and changes rules. Its methods are safe for concurrent use;
// changes are made one after the other.
type Manager struct {
	cfg     Config
	control *control.Manager[Rule, Parsed]
	paces   paces
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
	if cfg.Parse.Dialect > query.Web {
		return nil, fmt.Errorf("rule: Parse.Dialect %d is not allowed: want query.Union, V2Stream, V2Search or Web", cfg.Parse.Dialect)
	}
	if cfg.Parse.MaxClauses < 0 {
		return nil, fmt.Errorf("rule: Parse.MaxClauses %d is not allowed: want 1 or more, or 0 for the default", cfg.Parse.MaxClauses)
	}
	if cfg.Parse.MaxDepth < 0 {
		return nil, fmt.Errorf("rule: Parse.MaxDepth %d is not allowed: want 1 or more, or 0 for the default", cfg.Parse.MaxDepth)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Parse.Now = cfg.Now
	m := &Manager{cfg: cfg}
	m.control = control.New(control.Config[Rule, Parsed]{
		Kind: m.kind(), Store: cfg.Store, Tracker: cfg.Tracker, Webhooks: cfg.Webhooks, Admit: cfg.Admit, Created: cfg.Created, Settle: cfg.Settle,
		ChangeTimeout: cfg.ChangeTimeout, Logger: cfg.Logger, Now: cfg.Now,
	})
	return m, nil
}

// Parse parses a query with Config.Parse, as Create does. See query.Parse.
func (m *Manager) Parse(text string) (*query.Program, []query.Warning, error) {
	return query.Parse(text, m.cfg.Parse)
}

// Get returns a rule; ErrNotFound for an id that is unknown or another owner's.
func (m *Manager) Get(ctx context.Context, owner, id string) (Rule, error) {
	return m.cfg.Store.Get(ctx, owner, id)
}

// List returns a page of an owner's rules, oldest first.
func (m *Manager) List(ctx context.Context, q Query) (Page, error) {
	if err := m.control.CheckPage(&q.Page, &q.PageSize, control.Status(q.Status)); err != nil {
		return Page{}, err
	}
	p, err := m.cfg.Store.List(ctx, q)
	p.Page, p.PageSize = q.Page, q.PageSize
	return p, err
}

// Each calls fn for every rule of every owner, until fn returns an error, which Each
// returns. Changes wait meanwhile.
func (m *Manager) Each(ctx context.Context, fn func(Rule) error) error {
	return m.control.Each(ctx, fn)
}

// Follow has the Tracker follow a rule as it is stored, which another process may have
// changed or deleted.
func (m *Manager) Follow(ctx context.Context, owner, id string) error {
	return m.control.Follow(ctx, owner, id)
}

// Run stores what Report is told in the rules' StatusReason, until ctx ends. It may
// be called once.
func (m *Manager) Run(ctx context.Context) error { return m.control.Run(ctx) }

// Forget drops what Report was told of sources that another process polls from now on. That
// process writes the stored reasons then. id is the rule's, and what is that of Report.
func (m *Manager) Forget(elsewhere func(id, what string) bool) {
	m.control.Forget(func(id, what string) bool { return what != "" && elsewhere(id, what) })
}

// Report says that a source of a rule's posts fails permanently or, with a nil err,
// that it has recovered. The source is what: "?" and the canonical query for a search, "@"
// and the name for an account whose timeline is read, "" for the rule as a whole. Report
// does not block; Run stores what it says.
func (m *Manager) Report(owner, id, what string, err error) {
	m.control.Report(owner, id, what, err)
}

// Refused says that a stored rule cannot be run as it is or, with a nil err, that it can.
// It does not block; Run stores it.
func (m *Manager) Refused(owner, id string, err error) { m.control.Report(owner, id, "", err) }
