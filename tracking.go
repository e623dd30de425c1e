package streamwatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// tracking hands stored records to the detectors.
type tracking struct{ e *Engine }

// all hands the active monitors and rules to the detectors. A node of a fleet polls nothing
// until it has parts.
func (t tracking) all(ctx context.Context) error {
	e := t.e
	if e.fleet != nil {
		if err := errors.Join(e.platforms.SetParts(ctx, fleet.Set{}), e.dispatcher.SetParts(ctx, fleet.Set{})); err != nil {
			return err
		}
		return e.fleet.Reread(ctx)
	}
	if err := t.monitors(ctx, 0, func(monitor.Monitor) bool { return true }); err != nil {
		return fmt.Errorf("streamwatch: watch monitors: %w", err)
	}
	if err := t.rules(ctx, func(rule.Rule, detect.QuerySubscription) bool { return true }); err != nil {
		return fmt.Errorf("streamwatch: run rules: %w", err)
	}
	return nil
}

// monitors hands the active monitors to the detectors. If begins returns true, this process starts
// polling accounts of the monitor now. Then monitors clears the failures in the stored status
// reason: those that persist are reported again. missed is how long the accounts may not have been
// polled. If this engine's settings do not allow it to run a monitor, monitors writes the error
// into the monitor's status reason and goes on with the others.
func (t tracking) monitors(ctx context.Context, missed time.Duration, begins func(monitor.Monitor) bool) error {
	e := t.e
	return e.monitors.Each(ctx, func(m monitor.Monitor) error {
		if m.Status != monitor.Active {
			return nil
		}
		if begins(m) && strings.HasPrefix(m.StatusReason, monitor.ReasonUpstream) {
			e.monitors.Report(m.Owner, m.ID, "", nil)
		}
		sub := detect.ForMonitor(m)
		sub.Spread, sub.Missed = true, missed
		e.fleet.track(m.ID, record{kind: fleet.Monitor})
		err := e.platforms.Set(ctx, sub)
		if unrunnable(err) {
			e.cfg.Logger.Error("running a monitor failed", "monitor", m.ID, "error", err)
			e.monitors.Refused(m.Owner, m.ID, err)
			return e.fleet.ended(ctx, m.ID, fleet.Monitor)
		}
		if err == nil {
			e.monitors.Refused(m.Owner, m.ID, nil)
		}
		return err
	})
}

// rules hands the active rules to the detectors, as monitors does for monitors. This engine may be
// unable to run a rule that an engine with another dialect or with a Searcher has stored.
func (t tracking) rules(ctx context.Context, begins func(rule.Rule, detect.QuerySubscription) bool) error {
	e := t.e
	return e.rules.Each(ctx, func(r rule.Rule) error {
		if r.Status != rule.Active {
			return nil
		}
		sub, err := ruleTracker{e}.subscription(r)
		if begins(r, sub) && strings.HasPrefix(r.StatusReason, rule.ReasonUpstream) {
			e.rules.Report(r.Owner, r.ID, "@", nil) // "@" names no account: only the status reason is written again
		}
		refused := err != nil
		if err == nil {
			sub.Spread = true
			ruleTracker{e}.track(r, sub.Query)
			err = e.platforms.SetQuery(ctx, r.Platform, sub)
		}
		if refused || unrunnable(err) {
			e.cfg.Logger.Error("running a rule failed", "rule", r.ID, "error", err)
			e.rules.Refused(r.Owner, r.ID, err)
			return e.fleet.ended(ctx, r.ID, fleet.Rule)
		}
		if err == nil {
			e.rules.Refused(r.Owner, r.ID, nil)
		}
		return err
	})
}
