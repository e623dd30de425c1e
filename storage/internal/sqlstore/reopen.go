package sqlstore

import (
	"context"

	"github.com/streamwatch/streamwatch/deliver"
)

// Reopen implements deliver.Outbox.
func (o outbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	var ns []int64
	err := o.Write(ctx, func(t Tx) (err error) {
		if err := lock(t, o.LockDeliveries, Texts(r.IDs)); err != nil {
			return err
		}
		ns, err = column[int64](t, `SELECT o.n FROM deliveries o JOIN events e ON e.n = o.event
			WHERE o.id IN {texts ?1} AND o.due_at IS NULL AND e.owner = ?2 AND `+retained("e.n", "?3"), Texts(r.IDs), r.Owner, o.expired())
		if err != nil || len(ns) == 0 {
			return err
		}
		return reopen(t, ns, nanos(r.Due))
	})
	return len(ns), err
}

// reopen makes final deliveries pending again.
func reopen(t Tx, ns []int64, due int64) error {
	if err := unsettle(t, ns); err != nil {
		return err
	}
	return t.Exec(`UPDATE deliveries SET state = 'pending', due_at = ?1, uncounted = attempts, waited = 0, endpoint_deleted = FALSE
		WHERE n IN {ints ?2}`, due, Ints(ns))
}

// unsettle marks the events of deliveries as having open deliveries.
func unsettle(t Tx, ns []int64) error {
	events := make(Ints, len(ns))
	for i, n := range ns {
		events[i] = n >> placeBits
	}
	return t.Exec(`DELETE FROM settled WHERE event IN {ints ?}`, events)
}
