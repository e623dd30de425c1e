package enginehttp

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

const (
	chargeTries = 3
	// holdGrace is how long a reservation outlives Options.Timeout. What a process
	// had reserved when it died is available again after that.
	holdGrace = time.Minute
	// renewTimeout bounds how long commit takes to reserve again what was given back.
	renewTimeout = 5 * time.Second
)

// hold is the reservation of a request. The zero value is that of a free request.
type hold struct {
	h      *Handler
	x      *exchange
	ctx    context.Context // the request's
	route  string
	amount billing.Credits
	id     string // of the charge
	charge *billing.Charge
	// shared: the request repeats another one, which may be under way, and has its reservation.
	shared bool
	// first is the id of a shared charge. When its reservation was given back, the next one
	// has the id first.2, then first.3 and so on; n is the number of id, 1 for first.
	first string
	n     int
}

// reserve reserves the credits that the request costs. A repetition reserves under the id of
// the first request, so that only one of them is charged; it is free once one was.
func (h *Handler) reserve(ctx context.Context, x *exchange, rt *route, again *repeat) (hold, error) {
	if rt.open || rt.admin || h.opts.Ledger == nil {
		return hold{}, nil
	}
	price := h.opts.Pricing.Request(rt.name)
	if price <= 0 {
		return hold{}, nil
	}
	o := hold{h: h, x: x, ctx: ctx, route: rt.name, amount: price, id: x.id}
	if again != nil && again.first != nil {
		o.id, o.first, o.n, o.shared = again.charge, again.charge, 1, true
	}
	err := o.reserve(ctx, o.id)
	if o.shared && errors.Is(err, billing.ErrResolved) {
		var paid bool
		if paid, err = o.renew(ctx); paid {
			return hold{}, nil
		}
	}
	if errors.Is(err, billing.ErrInsufficient) {
		err = &failure{status: http.StatusPaymentRequired, text: "credit balance exhausted: this request costs " + creditText(price)}
	}
	return o, err
}

func (o *hold) reserve(ctx context.Context, id string) error {
	charge, err := billing.Hold(ctx, o.h.opts.Ledger, billing.Request{
		ID: id, Owner: o.x.who.Owner, Endpoint: o.route, Tier: o.x.who.Tier, Price: o.amount, HoldFor: o.h.opts.Timeout + holdGrace})
	if err == nil {
		o.charge = charge
	}
	return err
}

// renew is called when the shared reservation has ended. It reports paid if that ended with a
// charge; else it reserves under the next id, or the one after if that has ended, too.
func (o *hold) renew(ctx context.Context) (paid bool, err error) {
	for {
		// Committing again what was committed changes nothing, and so tells how it ended.
		// ErrNotFound: it was committed, and only its entry is still known.
		switch err = o.h.opts.Ledger.Commit(ctx, o.id, billing.Entry{Kind: billing.KindRequest}); {
		case err == nil, errors.Is(err, billing.ErrNotFound):
			return true, nil
		case !errors.Is(err, billing.ErrResolved):
			return false, err
		}
		// It was given back: nobody has paid yet.
		next := o.first + "." + strconv.Itoa(o.n+1)
		if err = o.reserve(ctx, next); err != nil && !errors.Is(err, billing.ErrResolved) {
			return false, err
		}
		o.id, o.n = next, o.n+1
		if err == nil {
			return false, nil
		}
	}
}

// price returns what the request costs if it succeeds.
func (o *hold) price() billing.Credits {
	if o.charge == nil {
		return 0
	}
	return o.charge.Price()
}

// commit turns the reservation into a charge. If another request with the same reservation
// has given it back meanwhile, commit reserves again and charges that. The answer has been
// sent by then: if the ledger fails, the request stays uncharged, and that is logged.
func (o *hold) commit() {
	if o.charge == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.ctx), renewTimeout)
	defer cancel()
	var err error
	for range chargeTries {
		err = o.charge.Commit(o.ctx)
		if o.shared && errors.Is(err, billing.ErrResolved) {
			var paid bool
			if paid, err = o.renew(ctx); paid {
				return
			}
			if err == nil {
				err = o.charge.Commit(o.ctx)
			}
		}
		if err == nil {
			o.x.charged, o.x.chargeID = o.charge.Price(), o.id
			return
		}
	}
	o.h.opts.Logger.Error("cannot charge a request", "request_id", o.x.named, "charge_id", o.id, "owner", o.x.who.Owner, "error", err)
}

// release gives the credits back unless they were charged. A shared reservation is left to
// expire, for the other request may still need it.
func (o *hold) release() {
	if o.charge == nil || o.shared {
		return
	}
	if err := o.charge.Release(o.ctx); err != nil {
		o.h.opts.Logger.Warn("cannot release a reservation: it will expire", "request_id", o.x.named, "charge_id", o.id, "owner", o.x.who.Owner, "error", err)
	}
}

// withBalance adds credits_balance to a 402: what will be available when held, the request's
// own reservation, has been released.
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
