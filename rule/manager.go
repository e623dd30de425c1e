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
	// Track starts to run an active rule, or updates one; p has its parsed query and
	// schedule.
	Track(ctx context.Context, r Rule, p Parsed) error
	// Untrack ends it: when it returns, nothing is detected for the rule any more. It
	// does nothing for a rule that is not tracked.
	Untrack(ctx context.Context, id string) error
	// ReadUntil returns until when a tracked rule has been read, the overlap
	// included; zero when nothing was read or this is unknown.
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
	// Platforms are the names that Rule.Platform may have beside "". Defaults to none.
	Platforms []string
	// Admit, if set, is called before a rule is created or changed, which includes
	// Restore; was is nil for a new one. An error refuses the change and leaves
	// nothing of it. done is called when the change has been stored or has failed.
	// Admit must not call the manager.
	Admit func(ctx context.Context, was *Rule, is Rule) (done func(), err error)
	// ChangeTimeout bounds Create and Update, without the wait for changes before
	// them. Defaults to 10 s.
	ChangeTimeout time.Duration
	// Logger gets what an operator should know. Defaults to none.
	Logger *slog.Logger
	// Now stamps. Defaults to time.Now.
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
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Parse.Now = cfg.Now
	m := &Manager{cfg: cfg}
	m.control = control.New(control.Config[Rule, Parsed]{
		Kind: m.kind(), Store: cfg.Store, Tracker: cfg.Tracker, Webhooks: cfg.Webhooks, Admit: cfg.Admit,
		ChangeTimeout: cfg.ChangeTimeout, Logger: cfg.Logger, Now: cfg.Now,
	})
	return m, nil
}

// Parse parses a query with Config.Parse, as Create does. See query.Parse.
func (m *Manager) Parse(text string) (*query.Program, []query.Warning, error) {
	return query.Parse(text, m.cfg.Parse)
}

// Get reads a rule; ErrNotFound for an id that is unknown or another's.
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

// Each calls fn for every rule of every owner. Changes wait meanwhile. An error ends
// it.
func (m *Manager) Each(ctx context.Context, fn func(Rule) error) error {
	return m.control.Each(ctx, fn)
}

// Run writes reported troubles into the rules' status reasons until ctx ends. It
// may be called once.
func (m *Manager) Run(ctx context.Context) error { return m.control.Run(ctx) }

// Report notes that what a rule is read from fails permanently or, with a nil error,
// that it has recovered: its query, then what is "", or an account, then what is "@"
// and the name. It does not block; Run stores it.
func (m *Manager) Report(owner, id, what string, err error) {
	m.control.Report(owner, id, what, err)
}
