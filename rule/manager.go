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

// Tracker puts changes of rules into effect while the engine runs.
type Tracker interface {
	// Track starts to poll an active rule. If a rule with r's ID is tracked already, Track
	// replaces it with r. p has r's parsed query and schedule.
	Track(ctx context.Context, r Rule, p Parsed) error
	// Untrack stops a rule. After it returns, no posts are detected for the rule.
	// It does nothing for a rule that is not tracked.
	Untrack(ctx context.Context, id string) error
	// ReadUntil returns the time up to which polls have read a tracked rule's posts, less the
	// overlap. It returns the zero time if nothing was read or the time is unknown.
	ReadUntil(ctx context.Context, id string) (time.Time, error)
}

// Webhooks manages the endpoints of rules. A rule with a webhook_url has one.
type Webhooks interface {
	// Check returns an error if a URL or a signing secret ("" for none) is not allowed.
	Check(url string, key secret.Value) error
	// Change changes the URL of a rule's endpoint. If from is "", it creates the endpoint. If to
	// is "", it removes the endpoint. A key replaces the signing secret. If key is "", an
	// existing endpoint keeps its secret, and Change generates and returns a secret for a new
	// endpoint.
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
	// Parse has the options for parsing queries. Its MaxLength is at most query.MaxQuery;
	// NewManager sets its Now.
	Parse query.Options
	// MinInterval is the shortest interval allowed. For a schedule, Manager.Every must return at
	// least MinInterval. Defaults to the constant MinInterval, 100 ms.
	MinInterval time.Duration
	// Platforms are the values allowed for Rule.Platform, besides "". Defaults to none.
	Platforms []string
	// Admit, if set, is called before a rule is created, updated or restored. was is nil for a
	// new rule. If Admit returns an error, the manager refuses the change with that error. The
	// manager calls done when the change has been stored or has failed. Admit must not call the
	// manager.
	Admit func(ctx context.Context, was *Rule, is Rule) (done func(), err error)
	// Created, if set, is called after a rule was created, for example to notify other processes.
	Created func()
	// Settle, if set, is called after a rule was updated or deleted. It waits until the change is
	// in effect in all processes. An error means that the change is stored, but not yet in effect
	// in all of them.
	Settle func(ctx context.Context) error
	// ChangeTimeout is the longest time for a change, without the wait for earlier changes.
	// Defaults to 10 s.
	ChangeTimeout time.Duration
	// Logger receives errors that an operator should see. Defaults to none.
	Logger *slog.Logger
	// Now returns the time to store in records. Defaults to time.Now.
	Now func() time.Time
}

// Manager creates and changes rules. Its methods are safe for concurrent use. It makes one change
// at a time.
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

// Get returns a rule. It returns ErrNotFound if the owner has none with this id.
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

// Each calls fn for every rule of every owner. If fn returns an error, Each stops and
// returns it. Changes wait until Each has returned.
func (m *Manager) Each(ctx context.Context, fn func(Rule) error) error {
	return m.control.Each(ctx, fn)
}

// Follow reads a rule from the store and passes it to the Tracker. Call it when another process
// may have changed or deleted the rule.
func (m *Manager) Follow(ctx context.Context, owner, id string) error {
	return m.control.Follow(ctx, owner, id)
}

// Run stores the errors passed to Report and Refused in the StatusReason of the rules, until ctx
// ends. It may be called only once.
func (m *Manager) Run(ctx context.Context) error { return m.control.Run(ctx) }

// Forget drops the errors reported for sources that another process polls from now on. That
// process then updates the StatusReason of the rules. elsewhere reports whether a source is one
// of these. Its arguments are the id and what of Report.
func (m *Manager) Forget(elsewhere func(id, what string) bool) {
	m.control.Forget(func(id, what string) bool { return what != "" && elsewhere(id, what) })
}

// Report records that a source of a rule's posts fails permanently or, if err is nil, that the
// source has recovered. what names the source: "?" and the canonical query for a search, "@" and
// the name for an account's timeline, "" for the whole rule. Report does not block. Run stores
// the error.
func (m *Manager) Report(owner, id, what string, err error) {
	m.control.Report(owner, id, what, err)
}

// Refused records that the engine cannot run a stored rule because of err or, if err is nil, that
// it can. Refused does not block. Run stores the error.
func (m *Manager) Refused(owner, id string, err error) { m.control.Report(owner, id, "", err) }
