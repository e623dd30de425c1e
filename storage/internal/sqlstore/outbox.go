package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// outbox implements deliver.Outbox.
type outbox struct{ *Store }

func (o outbox) Claim(ctx context.Context, r deliver.ClaimRequest) (claimed []deliver.Delivery, err error) {
	if o.Refuse != nil {
		return nil, o.Refuse
	}
	err = o.Write(ctx, func(t Tx) error {
		ns, err := o.claimable(t, &r)
		if err == nil {
			claimed, err = lease(t, ns, r.Now.Add(r.Lease))
		}
		return err
	})
	return claimed, err
}

// lease sets the due time of the deliveries with the numbers ns to until, and returns them in this
// order.
func lease(t Tx, ns []int64, until time.Time) ([]deliver.Delivery, error) {
	err := t.Exec(`UPDATE deliveries SET due_at = ? WHERE n IN {ints ?}`, nanos(until), Ints(ns))
	if err != nil {
		return nil, err
	}
	crashpoint.Hit("sqlstore.claim.leased")
	return openDeliveries(t, ns)
}

// openDeliveries reads deliveries with their events, in the order of ns.
func openDeliveries(t Tx, ns []int64) ([]deliver.Delivery, error) {
	if len(ns) == 0 {
		return nil, nil
	}
	found, err := all(t, `SELECT `+deliveryColumns+` FROM deliveries d WHERE d.n IN {ints ?}`, []any{Ints(ns)}, scanDelivery)
	if err == nil {
		err = addEvents(t, found)
	}
	if err != nil {
		return nil, err
	}
	place := make(map[int64]int, len(ns))
	for i, n := range ns {
		place[n] = i
	}
	slices.SortFunc(found, func(a, b deliveryRow) int { return cmp.Compare(place[a.n], place[b.n]) })
	ds := make([]deliver.Delivery, len(found))
	for i := range found {
		ds[i] = found[i].Delivery
	}
	return ds, nil
}

func (o outbox) NextDue(ctx context.Context, parts *fleet.Set) (due time.Time, open bool, err error) {
	query, args := `SELECT due_at FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`, []any(nil)
	if o.Lanes && parts != nil {
		query, args = o.NextDueIn, []any{partsList(parts)}
	}
	err = o.Read(ctx, func(q Querier) error {
		open, err = One(q, query, args, timeColumn{&due})
		return err
	})
	return due, open, err
}
