package detect

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/forecast"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/routing"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// router subscribes rules to searches or timelines, as package routing decides.
type router struct {
	d     *Detector
	turn  chan struct{} // held by the change under way; guards rules and subs
	bell  batch.Bell    // rung when accounts have changed
	rules routing.Rules
	subs  map[string]QuerySubscription // the subscriptions of the rules, by id
}

func newRouter(d *Detector) *router {
	return &router{d: d, turn: make(chan struct{}, 1), bell: batch.NewBell(), subs: map[string]QuerySubscription{}}
}

// lock waits until no other change is under way. It returns ErrStopped when the detector stops.
// Otherwise the other change could wait for Run, and Run for the caller.
func (r *router) lock(ctx context.Context) (unlock func(), err error) {
	select {
	case <-r.d.stop:
		return nil, ErrStopped
	default:
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("detect: %w", context.Cause(ctx))
	}
	select {
	case r.turn <- struct{}{}:
		return func() { <-r.turn }, nil
	case <-r.d.stop:
		return nil, ErrStopped
	case <-ctx.Done():
		return nil, fmt.Errorf("detect: %w", context.Cause(ctx))
	}
}

// run routes the rules that were set before Run. After each change of accounts it routes all rules
// again. Run starts it as a goroutine.
func (r *router) run(ctx context.Context) {
	retry := time.NewTimer(0)
	defer retry.Stop()
	for wait := rerouteWait; ; {
		select {
		case <-ctx.Done():
			return
		case <-r.bell:
			wait = rerouteWait
		case <-retry.C:
		}
		open, err := r.reroute(ctx)
		if err != nil && ctx.Err() == nil && !errors.Is(err, ErrStopped) { // after ErrStopped, ctx may end a moment later
			level := slog.LevelError
			if errors.Is(err, fleet.ErrFenced) {
				level = slog.LevelDebug
			}
			r.d.deps.Logger.Log(ctx, level, "cannot route queries: retrying", "error", err)
			wait = rerouteWait
		}
		if <-r.d.keeper.read; err == nil && r.d.gate.From(0) { // the first polls wait for the overlap, too
			r.d.ring()
		}
		if open || err != nil {
			retry.Reset(wait)
			wait = min(2*wait, rerouteMost)
		}
	}
}

// The router tries again rerouteWait after a failure. While it waits for timelines to be read, the
// wait doubles up to rerouteMost, because a timeline may never be read.
const (
	rerouteWait = 5 * time.Second
	rerouteMost = 5 * time.Minute
)

// rulesWait is the longest time that the first polls wait for the routing of the rules set before
// Run. A poll moves the cursor of its target for all rules. If a rule is routed after the poll, the
// next process would count posts as read that the rule never got.
const rulesWait = 2 * time.Second

// reroute routes every rule that should change its origin. open reports whether to call reroute
// again later: see forgetQueries.
func (r *router) reroute(ctx context.Context) (open bool, err error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return false, err
	}
	defer unlock()
	var rules []*routing.Rule
	var subs []QuerySubscription
	for rule := range r.rules.All() {
		if sub := r.subs[rule.ID]; rule.Origin == routing.Undecided || sub.coverable() {
			rules = append(rules, rule)
			subs = append(subs, sub)
		}
	}
	covered, err := r.covered(ctx, subs...)
	if err != nil {
		return false, err
	}
	for i, rule := range rules {
		if rule.Origin == routing.Undecided || covered[i] != (rule.Origin == routing.Timelines) {
			if rerr := r.route(ctx, rule, subs[i], covered[i]); rerr != nil {
				err = errors.Join(err, fmt.Errorf("query %q: %w", clip(rule.Query), rerr))
			}
		}
	}
	r.note()
	open, ferr := r.forgetQueries(ctx)
	return open, errors.Join(err, ferr)
}

// shared updates the rules after a change of the parts. It marks the rules with queries that were
// given up. Rules with queries that were taken begin when they are set again.
func (r *router) shared() {
	for rule := range r.rules.All() {
		if !rule.Elsewhere && !r.d.sharing.share.Query(rule.Query) {
			r.put(rule, r.subs[rule.ID], rule.State)
		}
	}
	r.accountsChanged()
	r.note()
}

// accountsChanged wakes run, and notifies the stream that its accounts may have changed.
func (r *router) accountsChanged() {
	r.bell.Ring()
	r.d.streams[poll.Accounts].Changed()
}

// note updates two counters: the calls per second that searches need, and the number of rules that
// need no search.
func (r *router) note() {
	d := r.d
	d.count.covered.Store(int64(r.rules.Covered()))
	d.streams[poll.Queries].Changed()
	d.count.queryRate.Store(math.Float64bits(r.rules.Polls() * planner{d: d}.pagesPer(poll.Queries)))
	d.refresh()
}

// planned returns the rules in the form used by package forecast.
func (r *router) planned(ctx context.Context) ([]forecast.Rule, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var rules []forecast.Rule
	for rule := range r.rules.All() {
		rules = append(rules, plannedRule(rule.Want, rule.Origin == routing.Timelines))
	}
	return rules, nil
}
