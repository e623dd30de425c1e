package sqlite

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// outbox implements deliver.Outbox.
type outbox struct{ s *Store }

func (o outbox) Claim(ctx context.Context, r deliver.ClaimRequest) (claimed []deliver.Delivery, err error) {
	if o.s.opts.Admin {
		return nil, ErrAdmin
	}
	err = o.s.write(ctx, func(t *tx) error {
		ns, err := claimable(t, &r)
		if err == nil {
			claimed, err = lease(t, ns, r.Now.Add(r.Lease))
		}
		return err
	})
	return claimed, err
}

// lease sets the due time of the deliveries with the numbers ns to until, and returns them in this
// order.
func lease(t *tx, ns []int64, until time.Time) ([]deliver.Delivery, error) {
	err := t.exec(`UPDATE deliveries SET due_at = ? WHERE n IN (SELECT value FROM json_each(?))`, nanos(until), jsonColumn{ns})
	if err != nil {
		return nil, err
	}
	crashpoint.Hit("sqlite.claim.leased")
	return openDeliveries(t, ns)
}

// openDeliveries reads deliveries with their events, in the order of ns.
func openDeliveries(t *tx, ns []int64) ([]deliver.Delivery, error) {
	found, err := all(t, `SELECT `+deliveryColumns+` FROM json_each(?) asked CROSS JOIN deliveries d ON d.n = asked.value ORDER BY asked.key`,
		[]any{jsonColumn{ns}}, scanDelivery)
	if err == nil {
		err = addEvents(t, found)
	}
	if err != nil {
		return nil, err
	}
	ds := make([]deliver.Delivery, len(found))
	for i := range found {
		ds[i] = found[i].Delivery
	}
	return ds, nil
}
