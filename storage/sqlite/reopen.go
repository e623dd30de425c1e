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
		ids, err := listJSON(r.IDs)
		if err != nil {
			return err
		}
		err = each(t, `SELECT DISTINCT o.n, o.event FROM json_each(?1) asked CROSS JOIN deliveries o ON o.id = asked.value
			WHERE o.due_at IS NULL AND `+packedOwner("o.event")+` = ?2
			AND o.event NOT IN (`+forgotten("?3")+`)`, []any{ids, r.Owner, o.s.forgottenUntil()}, func(rows *sql.Rows) error {
			var n, event int64
			err := rows.Scan(&n, &event)
			ns, events = append(ns, n), append(events, event)
			return wrap(err)
		})
		if err != nil || len(ns) == 0 {
			return err
		}
		if err := t.reopen(ns, nanos(r.Due)); err != nil {
			return err
		}
		// Reading the whole table is for a call as rare as this.
		list, err := listJSON(events)
		if err != nil {
			return err
		}
		return t.exec(`DELETE FROM settled WHERE first IN (SELECT value FROM json_each(?))`, list)
	})
	if err != nil {
		return 0, err
	}
	return len(ns), nil
}

func (t *tx) reopen(ns []int64, due int64) error {
	list, err := listJSON(ns)
	if err != nil {
		return err
	}
	return t.exec(`UPDATE deliveries SET state = 'pending', due_at = ?1, waited = 0, endpoint_deleted = 0,
		earlier = (SELECT count(*) FROM attempts a WHERE a.delivery = deliveries.n)
		WHERE n IN (SELECT value FROM json_each(?2))`, due, list)
}
