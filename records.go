package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/deliver/endpoints"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/control"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/platforms"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/record"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// records joins the managers of monitors, rules and endpoints, and the follower of what they store,
// to the detectors and the dispatcher.
type records struct {
	monitors   *monitor.Manager
	rules      *rule.Manager
	endpoints  *endpoints.Manager
	follower   *control.Follower
	searches   *ruleTracker
	platforms  *platforms.Set
	dispatcher *dispatch.Dispatcher
	reports    *reports
	tell       func()               // tells other nodes of a change
	now        func() time.Time     // the store's clock, or Config.Now
	onTrouble  func(detect.Trouble) // Config.OnTrouble; nil for none
}

// newManagers makes the managers and the follower. The detectors and the dispatcher are set.
func (r *records) newManagers(c *Config, store storage.Store, stored *endpoints.Store, l *limits) (err error) {
	r.follower = control.NewFollower(control.FollowerConfig{Records: store.Ports().Records, Apply: r.follow, Logger: c.Logger,
		Reread: func(ctx context.Context) error { return r.reread(ctx, control.Start{Spread: true}, new(fleet.Set)) }})
	r.searches = &ruleTracker{platforms: r.platforms, check: c.Rules.Check}
	l.runnable = r.searches.runnable
	r.endpoints, err = endpoints.New(endpoints.Config{
		Store: stored, Dispatcher: r.dispatcher, Log: store.Ports().Log, AllowPrivate: c.Webhook.AllowPrivate, AllowNets: c.Webhook.AllowNets,
		Moved: r.moved, Limits: l.newEndpoint, Applied: r.applied, Logger: c.Logger, Now: r.now,
	})
	if err != nil {
		return err
	}
	r.rules, err = rule.NewManager(rule.Config{
		Records: store.Ports().Records, Tracker: r.searches, Webhooks: r.endpoints.Webhooks(), Parse: c.Rules.Parse, MinInterval: c.Rules.MinInterval,
		Platforms: c.sourceNames(), NeedPlatform: c.needNames(), Limits: l.rule, Price: func(r rule.Rule) int64 { return int64(l.price(r).PerDay) },
		Applied: r.applied, Logger: c.Logger, Now: r.now,
	})
	if err != nil {
		return err
	}
	r.searches.parse, l.every = r.rules.ParseRule, r.rules.Every
	names := accountNames{r.platforms, c.sourceNames(), c.needNames()}
	r.monitors, err = monitor.NewManager(monitor.Config{
		Records: store.Ports().Records, Tracker: monitorTracker{r.platforms}, Webhooks: r.endpoints.Webhooks(),
		Paced: c.paced(), CheckAccount: names.check, Canonical: names.canonical,
		MaxAccounts: c.Quotas.MonitorAccounts, DefaultInterval: c.DefaultInterval, MinInterval: c.MinInterval, Shortest: r.platforms.MinInterval,
		Limits: l.monitor, Price: func(m monitor.Monitor) int64 { return int64(c.Pricing.Monitor(len(m.Accounts)).PerDay) },
		Applied: r.applied, Logger: c.Logger, Now: r.now,
	})
	return err
}

// follow applies a changed record to the engine: see control.Follower.
func (r *records) follow(ctx context.Context, entry record.Entry) error {
	switch entry.Kind {
	case record.Monitor:
		return ignoreEnd(r.monitors.Follow(ctx, entry))
	case record.Rule:
		return ignoreEnd(r.rules.Follow(ctx, entry))
	case record.Endpoint:
		return r.dispatcher.Follow(ctx, entry.Owner, entry.ID)
	case record.Owner: // is being erased: what is stored of it is about to go
		gone := func(owner string) bool { return record.OwnerID(owner) == entry.ID }
		r.dispatcher.DropOwner(gone)
		r.reports.Drop(gone)
		return ignoreEnd(errors.Join(r.monitors.End(ctx, gone), r.rules.End(ctx, gone)))
	}
	return nil // keys need nothing: they are read from the store for each request
}

// ignoreEnd returns nil for ErrNotRunning: an engine that stops polls nothing any more.
func ignoreEnd(err error) error {
	if errors.Is(err, ErrNotRunning) {
		return nil
	}
	return err
}

// reread applies all records. clear has the parts for whose accounts and queries another process may
// have stored failures, nil for all: those that last are reported again.
func (r *records) reread(ctx context.Context, how control.Start, clear *fleet.Set) error {
	err := r.monitors.Reread(ctx, how, func(m monitor.Monitor) bool {
		return clear == nil || slices.ContainsFunc(m.Accounts, func(a monitor.Account) bool { return clear.Has(r.platforms.Part(a.Username)) })
	})
	if err = ignoreEnd(err); err != nil {
		return fmt.Errorf("streamwatch: watch monitors: %w", err)
	}
	err = r.rules.Reread(ctx, how, func(of rule.Rule) bool { return clear == nil || r.searches.pollsAny(of, *clear) })
	if err = ignoreEnd(err); err != nil {
		return fmt.Errorf("streamwatch: run rules: %w", err)
	}
	return nil
}

// applied waits until a stored change of a record is in effect in this process, and tells other
// nodes of it.
func (r *records) applied(ctx context.Context, owner string, k record.Key) error {
	r.tell()
	return r.follower.Applied(ctx, owner, k)
}

// moved returns the monitor or rule of an endpoint, changed for another URL of the endpoint: see
// endpoints.Config.
func (r *records) moved(ctx context.Context, ep deliver.Endpoint, url string) (record.Record, bool, error) {
	if ep.Source.Kind == deliver.SourceRule {
		return r.rules.WebhookMoved(ctx, ep.Source.Owner, ep.Source.ID, ep.ID, url)
	}
	return r.monitors.WebhookMoved(ctx, ep.Source.Owner, ep.Source.ID, ep.ID, url)
}

// runnable marks an error for which trying again is useless, because this engine's settings do
// not allow it to run the rule or monitor.
func runnable(err error) error {
	if errors.Is(err, detect.ErrNoSearcher) || errors.Is(err, platforms.ErrUnknown) {
		return invalid.Refused(err)
	}
	return notRunning(err)
}

// monitorTracker implements monitor.Tracker with the detectors.
type monitorTracker struct{ platforms *platforms.Set }

func (t monitorTracker) Track(ctx context.Context, m monitor.Monitor, how control.Start) error {
	sub := detect.ForMonitor(m)
	sub.Spread, sub.Missed = how.Spread, how.Missed
	return runnable(t.platforms.Set(ctx, sub))
}

func (t monitorTracker) Untrack(ctx context.Context, id string) error {
	return notRunning(t.platforms.Remove(ctx, id))
}

func (t monitorTracker) ReadUntil(ctx context.Context, m monitor.Monitor) (map[string]time.Time, error) {
	return t.platforms.ReadUntil(ctx, m.ID, m.Usernames()...)
}

// ruleTracker implements rule.Tracker with the detectors.
type ruleTracker struct {
	platforms *platforms.Set
	check     bool // RuleConfig.Check
	parse     func(*rule.Rule) (rule.Parsed, error)
	searches  sync.Map // rule id → the fleet.Part of its query
}

func (t *ruleTracker) Track(ctx context.Context, r rule.Rule, p rule.Parsed, how control.Start) error {
	if on := t.platforms.Named(r.Platform); on != nil {
		t.searches.Store(r.ID, on.Detector.PartOfQuery(p.Query.Canonical()))
	}
	sub := detect.ForRule(r, p, t.check)
	sub.Spread = how.Spread
	return runnable(t.platforms.SetQuery(ctx, r.Platform, sub))
}

func (t *ruleTracker) Untrack(ctx context.Context, id string) error {
	err := t.platforms.RemoveQuery(ctx, id)
	if err == nil {
		t.searches.Delete(id)
	}
	return notRunning(err)
}

func (t *ruleTracker) ReadUntil(ctx context.Context, id string) (time.Time, error) {
	return t.platforms.QueryReadUntil(ctx, id)
}

// subscription returns the subscription of a stored rule for a detector.
func (t *ruleTracker) subscription(r rule.Rule) (detect.QuerySubscription, error) {
	p, err := t.parse(&r)
	if err != nil {
		return detect.QuerySubscription{}, err
	}
	return detect.ForRule(r, p, t.check), nil
}

// runnable returns the detector's error for a rule that it would refuse, otherwise nil. The caller
// has checked the rule's query and schedule.
func (t *ruleTracker) runnable(r rule.Rule) error {
	sub, err := t.subscription(r)
	p := t.platforms.Named(r.Platform)
	if err != nil || p == nil {
		return nil // Track returns this error
	}
	return p.Detector.CheckQuery(sub)
}

// pollsAny reports whether a rule polls accounts or queries in the parts.
func (t *ruleTracker) pollsAny(r rule.Rule, parts fleet.Set) bool {
	sub, err := t.subscription(r)
	p := t.platforms.Named(r.Platform)
	if err != nil || p == nil {
		return false
	}
	return slices.ContainsFunc(p.QueryParts(sub), parts.Has)
}

// has reports whether an owner has the monitor or rule with an id.
func (r *records) has(ctx context.Context, owner string, kind deliver.SourceKind, id string) (bool, error) {
	var err error
	if kind == deliver.SourceRule {
		_, err = r.rules.Get(ctx, owner, id)
	} else {
		_, err = r.monitors.Get(ctx, owner, id)
	}
	if errors.Is(err, monitor.ErrNotFound) || errors.Is(err, rule.ErrNotFound) {
		return false, nil
	}
	return err == nil, err
}

// reportTrouble reports a failure to its manager and calls Config.OnTrouble. The manager writes the
// failure into the status reason of the monitor or rule.
func (r *records) reportTrouble(t detect.Trouble) {
	err := publicError(t.Err)
	switch {
	case t.Source.Kind != deliver.SourceRule:
		r.monitors.Report(t.Source.Owner, t.Source.ID, t.Username, err)
	case t.Username != "":
		r.rules.Report(t.Source.Owner, t.Source.ID, "@"+t.Username, err)
	default:
		r.rules.Report(t.Source.Owner, t.Source.ID, "?"+t.Query, err)
	}
	if r.onTrouble != nil {
		r.onTrouble(t)
	}
}

// publicError returns err. If err could contain the service's hosts or addresses, it returns a
// general error instead. The log and OnTrouble get the full error.
func publicError(err error) error {
	var connection *net.OpError
	var lookup *net.DNSError
	var request *url.Error
	if errors.As(err, &connection) || errors.As(err, &lookup) || errors.As(err, &request) {
		return errors.New("the upstream cannot be reached")
	}
	return err
}
