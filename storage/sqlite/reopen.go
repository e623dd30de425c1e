package sqlite

import (
	"context"
	"database/sql"

	"github.com/streamwatch/streamwatch/deliver"
)

// Reopen implements deliver.Outbox.
func (o outbox) Reopen(ctx context.Context, r deliver.ReopenRequest) (int, error) {
	var ns, events []int64
	err := o.s.write(ctx, func(t *tx) error {
		ns, events = nil, nil
		if len(r.IDs) == 0 {
			return nil
		}
		err := each(t, `SELECT DISTINCT o.n, o.event FROM json_each(?1) asked CROSS JOIN deliveries o ON o.id = asked.value
			JOIN events e ON e.n = o.event WHERE o.due_at IS NULL AND e.owner = ?2 AND `+retained("e.n", "?3"), []any{jsonColumn{r.IDs}, r.Owner, o.s.expired()}, func(rows *sql.Rows) error {
			var n, event int64
			err := rows.Scan(&n, &event)
			ns, events = append(ns, n), append(events, event)
			return wrap(err)
		})
		if err != nil || len(ns) == 0 {
			return err
		}
		if err := unsettle(t, events); err != nil {
			return err
		}
		return reopen(t, ns, nanos(r.Due))
	})
	if err != nil {
		return 0, err
	}
	return len(ns), nil
}

// reopen makes final deliveries pending again.
func reopen(t *tx, ns []int64, due int64) error {
	return t.exec(`UPDATE deliveries SET state = 'pending', due_at = ?1, uncounted = attempts, waited = 0, endpoint_deleted = 0
		WHERE n IN (SELECT value FROM json_each(?2))`, due, jsonColumn{ns})
}

// unsettle marks events as having open deliveries again.
func unsettle(t *tx, events []int64) error {
	return t.exec(`DELETE FROM settled WHERE event IN (SELECT value FROM json_each(?))`, jsonColumn{events})
}
