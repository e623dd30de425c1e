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
	r.Limit = max(r.Limit, 0) // to SQLite, a negative limit means none
	var enough bool
	err = o.s.write(ctx, func(t *tx) error {
		ns, all, err := claimable(t, &r, nanos(r.Now), r.Limit)
		if enough = all; err != nil || !all {
			return err
		}
		claimed, err = lease(t, ns, r.Now.Add(r.Lease))
		return err
	})
	if err == nil && !enough {
		claimed, err = o.claimFromLanes(ctx, &r)
	}
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// laneTries is how often a claim reads the lanes outside a write. Others may claim what it
// finds before it does; after so many tries it reads them within the write.
const laneTries = 3

// claimFromLanes is Claim by going from lane to lane. There may be very many, so it reads them
// in a snapshot, which holds up no write, and then leases what it has found if all of that is
// still due.
func (o outbox) claimFromLanes(ctx context.Context, r *deliver.ClaimRequest) (claimed []deliver.Delivery, err error) {
	now, until := nanos(r.Now), r.Now.Add(r.Lease)
	for range laneTries {
		var ns []int64
		err := o.s.read(ctx, func(sn *snapshot) (err error) {
			ns, err = claimLanes(sn, r, now, r.Limit)
			return err
		})
		if err != nil || len(ns) == 0 {
			return nil, err
		}
		err = o.s.write(ctx, func(t *tx) error {
			claimed = nil
			due, err := stillDue(t, ns, now)
			if err == nil && due == len(ns) {
				claimed, err = lease(t, ns, until)
			}
			return err
		})
		if err != nil || claimed != nil {
			return claimed, err
		}
	}
	err = o.s.write(ctx, func(t *tx) error {
		ns, err := claimLanes(t, r, now, r.Limit)
		if err == nil {
			claimed, err = lease(t, ns, until)
		}
		return err
	})
	return claimed, err
}

// stillDue is how many of these deliveries are due at now.
func stillDue(t *tx, ns []int64, now int64) (due int, err error) {
	list, err := listJSON(ns)
	if err == nil {
		_, err = one(t, `SELECT count(*) FROM deliveries WHERE n IN (SELECT value FROM json_each(?1)) AND due_at <= ?2`, []any{list, now}, &due)
	}
	return due, err
}

// lease sets Due of deliveries to until, and returns them in the order of ns.
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
	byNumber := make(map[int64]int, len(ns)) // places in found
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
