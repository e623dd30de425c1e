package sqlite

import (
	"context"
	"database/sql"
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
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// lease sets the due time of the deliveries with the numbers ns to until, and returns them in this
// order.
func lease(t *tx, ns []int64, until time.Time) ([]deliver.Delivery, error) {
	list, err := listJSON(ns)
	if err != nil {
		return nil, err
	}
	if err := t.exec(`UPDATE deliveries SET due_at = ? WHERE n IN (SELECT value FROM json_each(?))`, nanos(until), list); err != nil {
		return nil, err
	}
	crashpoint.Hit("sqlite.claim.leased")
	return openDeliveries(t, ns)
}

// openDeliveries reads deliveries with their events, in the order of ns.
func openDeliveries(t *tx, ns []int64) ([]deliver.Delivery, error) {
	list, err := listJSON(ns)
	if err != nil {
		return nil, err
	}
	byNumber := make(map[int64]int, len(ns)) // indices in found
	var found []deliveryRow
	err = each(t, `SELECT `+deliveryColumns+` FROM deliveries d WHERE d.n IN (SELECT value FROM json_each(?))`, []any{list}, func(rows *sql.Rows) error {
		d, err := scanDelivery(rows)
		byNumber[d.n] = len(found)
		found = append(found, d)
		return err
	})
	if err == nil {
		err = addEvents(t, found)
	}
	if err != nil {
		return nil, err
	}
	ds := make([]deliver.Delivery, len(ns))
	for i, n := range ns {
		ds[i] = found[byNumber[n]].Delivery
	}
	return ds, nil
}
