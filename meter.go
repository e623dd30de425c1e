package streamwatch

import (
	"context"
	"errors"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// addMeter creates the meter, if Config.Billing is set.
func addMeter(e *Engine) (err error) {
	if e.cfg.Billing == nil {
		return nil
	}
	mc := *e.cfg.Billing
	known := new(uint64)
	mc.Ledger, mc.Streams = meterLedger{e.store.Ledger(), e.admission.marks, known}, streams{e, known}
	mc.Logger, mc.Now = e.cfg.Logger, e.cfg.Now
	e.meter, err = billing.NewMeter(mc)
	return err
}

// streams implements billing.Streams. It gives billing the active monitors and rules and those
// paused for lack of credits; in a fleet, only those of owners in this node's parts.
type streams struct {
	e     *Engine
	known *uint64 // the number of the feed's last change when Each began
}

func (s streams) Each(ctx context.Context, fn func(billing.Stream) error) (err error) {
	if *s.known, err = s.e.admission.marks.last(ctx); err != nil {
		return err
	}
	err = s.e.monitors.Each(ctx, func(m monitor.Monitor) error {
		paused := m.Status == monitor.Paused && m.StatusReason == monitor.ReasonCredits
		if m.Status != monitor.Active && !paused || !s.e.fleet.owns(m.Owner) {
			return nil
		}
		return fn(billing.Stream{Kind: billing.KindMonitor, ID: m.ID, Owner: m.Owner, Name: m.Name,
			Accounts: len(m.Accounts), Price: s.e.Price(m), CreatedAt: m.CreatedAt, Paused: paused})
	})
	if err != nil {
		return err
	}
	return s.e.rules.Each(ctx, func(r rule.Rule) error {
		paused := r.Status == rule.Paused && r.StatusReason == rule.ReasonCredits
		if r.Status != rule.Active && !paused || !s.e.fleet.owns(r.Owner) {
			return nil
		}
		return fn(billing.Stream{Kind: billing.KindRule, ID: r.ID, Owner: r.Owner, Name: r.Tag,
			Price: s.e.PriceRule(r), CreatedAt: r.CreatedAt, Paused: paused})
	})
}

func (s streams) Pause(ctx context.Context, st billing.Stream) (err error) {
	switch st.Kind {
	case billing.KindMonitor:
		_, err = s.e.monitors.Suspend(ctx, st.Owner, st.ID, monitor.ReasonCredits)
	case billing.KindRule:
		_, err = s.e.rules.Suspend(ctx, st.Owner, st.ID, rule.ReasonCredits)
	}
	return ignoreNotFound(err)
}

func (s streams) Resume(ctx context.Context, st billing.Stream) (err error) {
	switch st.Kind {
	case billing.KindMonitor:
		_, err = s.e.monitors.Restore(ctx, st.Owner, st.ID, monitor.ReasonCredits)
	case billing.KindRule:
		_, err = s.e.rules.Restore(ctx, st.Owner, st.ID, rule.ReasonCredits)
	}
	return ignoreNotFound(err)
}

// ignoreNotFound returns nil if err says that the record does not exist. It was deleted after Each
// had read it.
func ignoreNotFound(err error) error {
	if errors.Is(err, monitor.ErrNotFound) || errors.Is(err, rule.ErrNotFound) {
		return nil
	}
	return err
}
