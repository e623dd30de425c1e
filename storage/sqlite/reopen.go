package sqlite

import (
	"context"
	"strconv"

	"github.com/streamwatch/streamwatch/deliver"
)

// Reopen implements deliver.Outbox.
func (o outbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	var ns []int64
	err := o.s.write(ctx, func(t *tx) (err error) {
		ns, err = column[int64](t, `SELECT DISTINCT o.n FROM json_each(?1) asked CROSS JOIN deliveries o ON o.id = asked.value
			JOIN events e ON e.n = o.event WHERE o.due_at IS NULL AND e.owner = ?2 AND `+retained("e.n", "?3"), jsonColumn{r.IDs}, r.Owner, o.s.expired())
		if err != nil || len(ns) == 0 {
			return err
		}
		return reopen(t, ns, nanos(r.Due))
	})
	return len(ns), err
}

// reopen makes final deliveries pending again.
func reopen(t *tx, ns []int64, due int64) error {
	if err := unsettle(t, ns); err != nil {
		return err
	}
	return t.exec(`UPDATE deliveries SET state = 'pending', due_at = ?1, uncounted = attempts, waited = 0, endpoint_deleted = 0
		WHERE n IN (SELECT value FROM json_each(?2))`, due, jsonColumn{ns})
}

// unsettle marks the events of deliveries as having open deliveries.
func unsettle(t *tx, ns []int64) error {
	return t.exec(`DELETE FROM settled WHERE event IN (SELECT value >> `+strconv.Itoa(placeBits)+` FROM json_each(?))`, jsonColumn{ns})
}
