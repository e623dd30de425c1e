package rule

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"time"

	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Tracker puts changes of rules into effect while the engine runs.
type Tracker interface {
	// Track starts to poll an active rule. If a rule with r's ID is tracked already, Track
	// replaces it with r. p has r's parsed query and schedule.
	Track(ctx context.Context, r Rule, p Parsed, how control.Start) error
	// Untrack stops a rule. After it returns, no posts are detected for the rule.
	// It does nothing for a rule that is not tracked.
	Untrack(ctx context.Context, id string) error
	// ReadUntil returns the time up to which polls have read a tracked rule's posts, less the
	// overlap. It returns the zero time if nothing was read or the time is unknown.
	ReadUntil(ctx context.Context, id string) (time.Time, error)
}

// Config sets up a Manager. The zero value of each field means its default.
type Config struct {
	// Records, Tracker and Webhooks are required.
	Records  record.Store
	Tracker  Tracker
	Webhooks control.Webhooks
	// Parse has the options for parsing queries. Its MaxLength is at most query.MaxQuery;
	// NewManager sets its Now.
	Parse query.Options
	// MinInterval is the shortest interval allowed. For a schedule, Manager.Every must return at
	// least MinInterval. Defaults to the constant MinInterval, 100 ms.
	MinInterval time.Duration
	// Platforms are the values allowed for Rule.Platform, besides "". Defaults to none.
	Platforms []string
	// NeedPlatform means that a new rule must name one of Platforms. By default "" is the first.
	NeedPlatform bool
	// Limits, if set, is called before a rule is stored: see control.Config. Its error refuses the
	// change.
	Limits func(ctx context.Context, was *Rule, is Rule, endpoint bool) ([]control.Limit, error)
	// Price returns the price of a rule, in thousandths of a credit a day. Defaults to 0.
	Price func(Rule) int64
	// Applied, if set, waits until a stored change is in effect in this process. Defaults to
	// Follow.
	Applied func(ctx context.Context, owner string, k record.Key) error
	// Logger receives errors that an operator should see. Defaults to none.
	Logger *slog.Logger
	// Now returns the time to store in records. Defaults to time.Now.
	Now func() time.Time
}

// base has what the engine calls, such as Follow, Run and Report.
type base = control.Manager[Rule, Parsed]

// Manager creates and changes rules. Its methods are safe for concurrent use.
type Manager struct {
	cfg Config
	*base
	paces paces
}

// NewManager checks cfg and returns a manager. It starts nothing.
func NewManager(cfg Config) (*Manager, error) {
	if cfg.Records == nil || cfg.Tracker == nil || cfg.Webhooks == nil {
		return nil, errors.New("rule: Manager needs Records, a Tracker and Webhooks")
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
	m.base = control.New(control.Config[Rule, Parsed]{
		Kind: m.kind(), Records: cfg.Records, Tracker: cfg.Tracker, Webhooks: cfg.Webhooks, Limits: cfg.Limits, Price: cfg.Price,
		Applied: cfg.Applied, Logger: cfg.Logger, Now: cfg.Now,
	})
	return m, nil
}

// Parse parses a query with Config.Parse, as Create does. See query.Parse.
func (m *Manager) Parse(text string) (*query.Program, []query.Warning, error) {
	return query.Parse(text, m.cfg.Parse)
}

// Get returns a rule. It returns ErrNotFound if the owner has none with this id.
func (m *Manager) Get(ctx context.Context, owner, id string) (Rule, error) {
	return m.base.Get(ctx, owner, id, 0)
}

// List yields all rules of the query's Owner and Status, oldest first, and reads 100 at a time. A
// rule that matches the whole time comes exactly once, even if the loop deletes some. After an
// error, such as that of an ended context, nothing comes.
func (m *Manager) List(ctx context.Context, q Query) iter.Seq2[Rule, error] {
	return m.base.List(ctx, q.Owner, control.Status(q.Status))
}

// Page returns a page of an owner's rules, oldest first.
func (m *Manager) Page(ctx context.Context, q Query) (Page, error) {
	list, total, err := m.base.Page(ctx, q.Owner, control.Status(q.Status), &q.Page, &q.PageSize)
	if err != nil {
		return Page{}, err
	}
	return Page{Rules: list, Total: total, Page: q.Page, PageSize: q.PageSize}, nil
}
