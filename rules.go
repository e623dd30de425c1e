package streamwatch

import (
	"context"
	"errors"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/invalid"
	"github.com/streamwatch/streamwatch/internal/platforms"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/rule/query"
	"github.com/streamwatch/streamwatch/secret"
)

// RuleConfig tunes the filter rules. The zero value of each field means its
// default.
type RuleConfig struct {
	// Parse sets how queries are parsed. Its Dialect should be that of the platform. Defaults to
	// query.Union. The engine sets its Now: New returns an error if it is set.
	Parse query.Options
	// MinInterval is the shortest poll interval allowed, also in schedules. Defaults to
	// rule.MinInterval.
	MinInterval time.Duration
	// Check drops a post of the platform's search if the post's fields show that it does not match
	// the query. Defaults to false: all posts of the search are accepted.
	Check bool
}

// Rules returns the manager that creates and changes filter rules. It may be used at the same
// times as Monitors. A rule needs a Searcher unless its query names the accounts that its posts
// come from: see detect.QuerySubscription.
func (e *Engine) Rules() *rule.Manager { return e.rules }

// PriceRule returns the price of a rule by Config.Pricing. A rule with a schedule has the price of
// its shortest interval. See Price.
func (e *Engine) PriceRule(r rule.Rule) billing.Price {
	return e.cfg.Pricing.Rule(e.rules.Every(r))
}

// Query returns the state of the query with the given text. Texts with the same
// query.Program.Canonical are one query. ok is false if no active rule has the query. The error is
// ErrNotRunning, ctx's error, or the reason why the text cannot be parsed.
func (e *Engine) Query(ctx context.Context, text string) (st detect.QueryStatus, ok bool, err error) {
	if e.life.current() != running {
		return detect.QueryStatus{}, false, ErrNotRunning
	}
	p, _, err := e.rules.Parse(text)
	if err != nil {
		return detect.QueryStatus{}, false, err
	}
	st, ok, err = e.platforms.Query(ctx, p.Canonical())
	if ok && e.fleet != nil {
		st.Node = e.fleet.node.NameOf(st.Part)
	}
	return st, ok, notRunning(err)
}

// addRules creates the manager of rules.
func addRules(e *Engine) (err error) {
	e.rules, err = rule.NewManager(rule.Config{
		Store: guardedRules{e.store.Rules(), e.admission.marks}, Tracker: ruleTracker{e}, Webhooks: ruleWebhooks{e.bound}, ChangeTimeout: e.grace / 4,
		Parse: e.cfg.Rules.Parse, MinInterval: e.cfg.Rules.MinInterval, Platforms: sources{e}.names(), Admit: e.admission.rule, Created: e.fleet.changed, Settle: e.fleet.inEffect,
		Logger: e.cfg.Logger, Now: e.cfg.Now,
	})
	return err
}

// unrunnable reports whether err says that this engine's settings do not allow it to run the rule
// or monitor. Trying again is then useless.
func unrunnable(err error) bool {
	return errors.Is(err, detect.ErrNoSearcher) || errors.Is(err, platforms.ErrUnknown) || invalid.IsRefused(err)
}

// planRules adds the price of the active rules to plan, and returns the queries of those
// that can run.
func planRules(ctx context.Context, e *Engine, plan *Plan) (subs []platforms.Query, err error) {
	err = e.rules.Each(ctx, func(r rule.Rule) error {
		if r.Status != rule.Active {
			return nil
		}
		plan.CreditsPerDay += e.PriceRule(r).PerDay
		if sub, err := (ruleTracker{e}).subscription(r); err == nil {
			subs = append(subs, platforms.Query{Platform: r.Platform, QuerySubscription: sub})
		}
		return nil
	})
	return subs, err
}

// ruleTracker implements rule.Tracker with the detectors.
type ruleTracker struct{ e *Engine }

func (t ruleTracker) Track(ctx context.Context, r rule.Rule, p rule.Parsed) error {
	t.track(r, p.Query.Canonical())
	sub := detect.ForRule(r, p, t.e.cfg.Rules.Check)
	sub.Spread = t.e.life.current() == fresh
	return notRunning(t.e.platforms.SetQuery(ctx, r.Platform, sub))
}

// track notes that the detectors are about to get a rule, and to which part its query belongs.
func (t ruleTracker) track(r rule.Rule, text string) {
	known := record{kind: fleet.Rule}
	if p := t.e.platforms.Named(r.Platform); p != nil {
		known.search = p.Detector.PartOfQuery(text)
	}
	t.e.fleet.track(r.ID, known)
}

// subscription returns the subscription of a stored rule for a detector.
func (t ruleTracker) subscription(r rule.Rule) (detect.QuerySubscription, error) {
	p, err := t.e.rules.ParseRule(&r)
	if err != nil {
		return detect.QuerySubscription{}, err
	}
	return detect.ForRule(r, p, t.e.cfg.Rules.Check), nil
}

// runnable returns the detector's error for a rule that it would refuse, otherwise nil. The caller
// has checked the rule's query and schedule.
func (t ruleTracker) runnable(r rule.Rule) error {
	sub, err := t.subscription(r)
	p := t.e.platforms.Named(r.Platform)
	if err != nil || p == nil {
		return nil // Track returns this error
	}
	return p.Detector.CheckQuery(sub)
}

func (t ruleTracker) Untrack(ctx context.Context, id string) error {
	err := t.e.platforms.RemoveQuery(ctx, id)
	t.e.fleet.untrack(id, err)
	return notRunning(err)
}

func (t ruleTracker) ReadUntil(ctx context.Context, id string) (time.Time, error) {
	return t.e.platforms.QueryReadUntil(ctx, id)
}

// ruleWebhooks implements rule.Webhooks with the endpoint manager.
type ruleWebhooks struct{ bound }

func (w ruleWebhooks) Change(ctx context.Context, r rule.Rule, from, to string, key secret.Value) (secret.Value, error) {
	return w.change(ctx, ruleSource(r), from, to, key)
}

func (w ruleWebhooks) Unbind(ctx context.Context, r rule.Rule) error {
	return w.unbind(ctx, ruleSource(r))
}

func ruleSource(r rule.Rule) deliver.Source {
	return deliver.Source{Kind: deliver.SourceRule, ID: r.ID, Owner: r.Owner, Name: r.Tag}
}
