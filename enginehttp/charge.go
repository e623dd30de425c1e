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
	// anewTimeout bounds how long commit reserves anew what was given back.
	anewTimeout = 5 * time.Second
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
	// shared: the reservation may be another request's, too, which is under way.
	shared bool
	// first is the id that all requests which share it begin with; those after it, when it
	// was given back, are numbered from 2. id has the number n.
	first string
	n     int
}

// reserve reserves the credits that the request costs. A repetition reserves and charges
// what the first request does, so that one of them pays; it is free if one has.
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
		if paid, err = o.anew(ctx); paid {
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

// anew reserves under the next id that has not ended, when the shared reservation has. It
// reports paid if one of them ended with a charge.
func (o *hold) anew(ctx context.Context) (paid bool, err error) {
	for {
		// To commit what was committed changes nothing. ErrNotFound: of what was committed
		// only the entry is known by now.
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

// commit turns the reservation into a charge. If the request that shares it has given it
// back meanwhile, commit reserves and charges anew. The answer has been sent by then: if
// the ledger fails, the request stays uncharged, and the log tells the operator.
func (o *hold) commit() {
	if o.charge == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(o.ctx), anewTimeout)
	defer cancel()
	var err error
	for range chargeTries {
		err = o.charge.Commit(o.ctx)
		if o.shared && errors.Is(err, billing.ErrResolved) {
			var paid bool
			if paid, err = o.anew(ctx); paid {
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
	o.h.opts.Logger.Error("charging a request failed", "request_id", o.x.named, "charge_id", o.id, "owner", o.x.who.Owner, "error", err)
}

// release gives the credits back unless they were charged. A reservation that is shared
// expires, as one does if the ledger fails.
func (o *hold) release() {
	if o.charge == nil || o.shared {
		return
	}
	if err := o.charge.Release(o.ctx); err != nil {
		o.h.opts.Logger.Warn("releasing a reservation failed, it will expire", "request_id", o.x.named, "charge_id", o.id, "owner", o.x.who.Owner, "error", err)
	}
}

// withBalance adds credits_balance to a 402: what is available once held, the
// request's own reservation, is released.
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

// creditText formats an amount in credits, exactly: "5", "-1.157".
func creditText(c billing.Credits) string {
	b := appendCredits(nil, c)
	return string(b)
}

func appendCredits(b []byte, c billing.Credits) []byte {
	whole, rest := uint64(c)/1000, uint64(c)%1000
	if c < 0 {
		n := -uint64(c)
		whole, rest = n/1000, n%1000
		b = append(b, '-')
	}
	b = strconv.AppendUint(b, whole, 10)
	if rest == 0 {
		return b
	}
	b = append(b, '.', byte('0'+rest/100), byte('0'+rest/10%10), byte('0'+rest%10))
	for b[len(b)-1] == '0' {
		b = b[:len(b)-1]
	}
	return b
}

// credits is an amount that encodes as an exact JSON number.
type credits billing.Credits

func (c credits) MarshalJSON() ([]byte, error) { return appendCredits(nil, billing.Credits(c)), nil }

// wholeCredits rounds to whole credits, as balances are shown.
func wholeCredits(c billing.Credits) int64 { return int64(c / billing.Credit) }
