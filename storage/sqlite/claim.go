package sqlite

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// claimReach is the maximum number of due deliveries to skipped endpoints that Claim reads in order
// of due time. If there are more, it uses the query claimLanes instead.
const claimReach = 1024

// claimable returns the numbers of up to r.Limit deliveries due at r.Now, earliest due first. It
// leaves out deliveries to endpoints in r.Skip.
func claimable(t *tx, r *deliver.ClaimRequest) (ns []int64, err error) {
	now, limit := nanos(r.Now), max(r.Limit, 0) // to SQLite, a negative limit means none
	if len(r.Skip) == 0 {
		return column[int64](t, `SELECT n FROM deliveries WHERE due_at <= ? ORDER BY due_at, n LIMIT ?`, now, limit)
	}
	skip := jsonColumn{r.Skip}
	reach := min(limit, claimReach) + claimReach
	ns, err = column[int64](t, `SELECT n FROM (SELECT n, due_at, endpoint_id FROM deliveries WHERE due_at <= ?1 ORDER BY due_at, n LIMIT ?3)
		WHERE endpoint_id NOT IN (SELECT value FROM json_each(?4)) ORDER BY due_at, n LIMIT ?2`, now, limit, reach, skip)
	if err != nil || len(ns) == limit {
		return ns, err
	}
	more, err := one(t, `SELECT 1 FROM deliveries WHERE due_at <= ? LIMIT 1 OFFSET ?`, []any{now, reach})
	if err != nil || !more {
		return ns, err
	}
	return column[int64](t, claimLanes, now, limit, skip)
}

// claimLanes selects up to ?2 deliveries due at ?1, earliest due first. It does not read the
// deliveries to the endpoints in ?3. The table lane lists all endpoints with open deliveries. The
// query looks at the ?2 lanes that begin earliest, and at up to ?2 deliveries in each. No other
// delivery can be among the first ?2.
const claimLanes = `WITH RECURSIVE
	lane (id) AS (
		SELECT min(endpoint_id) FROM deliveries WHERE due_at IS NOT NULL
		UNION ALL
		SELECT (SELECT min(d.endpoint_id) FROM deliveries d WHERE d.due_at IS NOT NULL AND d.endpoint_id > lane.id)
		FROM lane WHERE lane.id IS NOT NULL),
	head (id) AS (
		SELECT lane.id FROM lane JOIN deliveries d ON d.n = (
			SELECT f.n FROM deliveries f WHERE f.endpoint_id = lane.id AND f.due_at <= ?1 ORDER BY f.due_at, f.n LIMIT 1)
		WHERE lane.id NOT IN (SELECT value FROM json_each(?3))
		ORDER BY d.due_at, d.n LIMIT ?2)
	SELECT d.n FROM head CROSS JOIN deliveries d ON d.n IN (
		SELECT f.n FROM deliveries f WHERE f.endpoint_id = head.id AND f.due_at <= ?1 ORDER BY f.due_at, f.n LIMIT ?2)
	ORDER BY d.due_at, d.n LIMIT ?2`

// NextDue implements deliver.Outbox. It ignores the parts, because a file has only one engine.
func (o outbox) NextDue(ctx context.Context, _ *fleet.Set) (due time.Time, open bool, err error) {
	err = o.s.read(ctx, func(r *snapshot) error {
		open, err = one(r, `SELECT due_at FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`, nil, timeColumn{&due})
		return err
	})
	return due, open, err
}
