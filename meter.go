package streamwatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/monitor"
)

// addMeter makes the meter that Config.Billing asks for.
func (e *Engine) addMeter() (err error) {
	if e.cfg.Billing == nil {
		return nil
	}
	mc := *e.cfg.Billing
	mc.Ledger, mc.Streams = e.store.Ledger(), streams{e}
	mc.Logger, mc.Now = e.cfg.Logger, e.cfg.Now
	e.meter, err = billing.NewMeter(mc)
	return err
}

// Covers says whether an owner's credits cover the next hour of one more stream
// at that price: nil, billing.ErrInsufficient, or an error of the store. Without
// Config.Billing nothing is charged, and they do. Asked before a monitor is made
// or resumed, it saves one that would pause within a minute.
func (e *Engine) Covers(ctx context.Context, owner string, p billing.Price) error {
	if e.meter == nil {
		return nil
	}
	return e.meter.Covers(ctx, owner, p)
}

// streams shows the meter what to charge for.
type streams struct{ e *Engine }

func (s streams) Each(ctx context.Context, fn func(billing.Stream) error) error {
	return s.e.monitors.Each(ctx, func(m monitor.Monitor) error {
		paused := m.Status == monitor.Paused && m.StatusReason == monitor.ReasonCredits
		if m.Status != monitor.Active && !paused {
			return nil
		}
		return fn(billing.Stream{Kind: billing.KindMonitor, ID: m.ID, Owner: m.Owner, Name: m.Name,
			Accounts: len(m.Accounts), Price: s.e.Price(m), CreatedAt: m.CreatedAt, Paused: paused})
	})
}

func (s streams) Pause(ctx context.Context, st billing.Stream) error {
	return s.move(ctx, st, s.e.monitors.Suspend)
}

func (s streams) Resume(ctx context.Context, st billing.Stream) error {
	return s.move(ctx, st, s.e.monitors.Restore)
}

func (s streams) move(ctx context.Context, st billing.Stream, monitors func(ctx context.Context, owner, id, reason string) (monitor.Monitor, error)) error {
	if st.Kind != billing.KindMonitor {
		return fmt.Errorf("streamwatch: stream kind %q is not allowed: want %q", st.Kind, billing.KindMonitor)
	}
	_, err := monitors(ctx, st.Owner, st.ID, monitor.ReasonCredits)
	if errors.Is(err, monitor.ErrNotFound) {
		return nil // deleted meanwhile
	}
	return err
}
