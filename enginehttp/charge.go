package enginehttp

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

const (
	chargeTries = 3
	// holdGrace is how long a reservation lasts after Options.Timeout. If a process dies, its
	// reserved credits become available again then.
	holdGrace = time.Minute
)

// hold is the reservation of a request. The zero value is for a request that is free.
type hold struct {
	h      *Handler
	x      *exchange
	ctx    context.Context // the request's
	charge *billing.Charge
}

// reserve reserves the price of the request. A repetition is free, since the first request was
// charged when its answer was stored.
func (h *Handler) reserve(ctx context.Context, x *exchange, rt *route, again *repeat) (hold, error) {
	if rt.open || rt.admin || h.opts.Ledger == nil || again != nil && again.first != nil {
		return hold{}, nil
	}
	price := h.opts.Pricing.Request(rt.name)
	if price <= 0 {
		return hold{}, nil
	}
	charge, err := billing.Hold(ctx, h.opts.Ledger, billing.Request{
		ID: x.id, Owner: x.who.Owner, Endpoint: rt.name, Tier: x.who.Tier, Price: price, HoldFor: h.opts.Timeout + holdGrace})
	if errors.Is(err, billing.ErrInsufficient) {
		err = &failure{status: http.StatusPaymentRequired, text: "credit balance exhausted: this request costs " + creditText(price)}
	}
	return hold{h: h, x: x, ctx: ctx, charge: charge}, err
}

// price returns the price of the request if it succeeds.
func (o *hold) price() billing.Credits {
	if o.charge == nil {
		return 0
	}
	return o.charge.Price()
}

// commit turns the reservation into a charge. If the ledger fails, it logs that, and the request
// stays uncharged.
func (o *hold) commit() {
	if o.charge == nil {
		return
	}
	var err error
	for range chargeTries {
		if err = o.charge.Commit(o.ctx); err == nil {
			o.x.charged = o.charge.Price()
			return
		}
	}
	o.h.opts.Logger.Error("cannot charge a request", "request_id", o.x.named, "charge_id", o.x.id, "owner", o.x.who.Owner, "error", err)
}

// release returns the reserved credits unless they were charged.
func (o *hold) release() {
	if o.charge == nil {
		return
	}
	if err := o.charge.Release(o.ctx); err != nil {
		o.h.opts.Logger.Warn("cannot release a reservation: it will expire", "request_id", o.x.named, "charge_id", o.x.id, "owner", o.x.who.Owner, "error", err)
	}
}

// withBalance adds credits_balance to a 402: the available credits plus held, the amount
// reserved for this request.
func (h *Handler) withBalance(ctx context.Context, x *exchange, err error, held billing.Credits) error {
	f := failureOf(err)
	if f.status != http.StatusPaymentRequired || h.opts.Ledger == nil {
		return err
	}
	b, lookup := h.opts.Ledger.Balance(ctx, x.who.Owner)
	if lookup != nil {
		return err
	}
	told := *f
	told.more = map[string]any{"credits_balance": wholeCredits(b.Available + held)}
	return &told
}
