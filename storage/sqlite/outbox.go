package sqlite

import (
	"context"
	"database/sql"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// outbox implements deliver.Outbox.
type outbox struct{ s *Store }

// claimable gives the deliveries due at now, the longest due first, up to limit,
// without those of the endpoints in skip. It reads about a thousand more than
// limit; enough reports whether that was sufficient, or claimBut is needed.
func claimable(t *tx, now int64, limit int, skip []string) (ns []int64, enough bool, err error) {
	const most = 1024
	reach := limit
	if len(skip) > 0 {
		reach = min(limit, most) + most
	}
	seen := 0
	err = each(t, `SELECT n, endpoint_id FROM deliveries WHERE due_at <= ? ORDER BY due_at, n LIMIT ?`, []any{now, reach}, func(found *sql.Rows) error {
		var n int64
		var endpoint string
		err := found.Scan(&n, &endpoint)
		if seen++; len(ns) < limit && !slices.Contains(skip, endpoint) {
			ns = append(ns, n)
		}
		return wrap(err)
	})
	return ns, len(ns) == limit || seen < reach, err
}

// claimBut selects the deliveries due at ?1, the longest due first, up to ?2,
// without those of the endpoints in ?3. It goes from endpoint to endpoint, so that
// it reads nothing of what is due for those left out. What it selects is among the
// first ?2 of the endpoints whose own first deliveries are longest due.
const claimBut = `WITH RECURSIVE
	lane (id) AS (
		SELECT min(endpoint_id) FROM deliveries WHERE due_at IS NOT NULL
		UNION ALL
		SELECT (SELECT min(endpoint_id) FROM deliveries WHERE due_at IS NOT NULL AND endpoint_id > lane.id)
		FROM lane WHERE lane.id IS NOT NULL),
	head (id) AS (
		SELECT lane.id FROM lane JOIN deliveries d ON d.n = (
			SELECT f.n FROM deliveries f WHERE f.endpoint_id = lane.id AND f.due_at <= ?1 ORDER BY f.due_at, f.n LIMIT 1)
		WHERE lane.id NOT IN (SELECT value FROM json_each(?3))
		ORDER BY d.due_at, d.n LIMIT ?2)
	SELECT d.n FROM head CROSS JOIN deliveries d ON d.n IN (
		SELECT f.n FROM deliveries f WHERE f.endpoint_id = head.id AND f.due_at <= ?1 ORDER BY f.due_at, f.n LIMIT ?2)
	ORDER BY d.due_at, d.n LIMIT ?2`

func (o outbox) Claim(ctx context.Context, r deliver.ClaimRequest) ([]deliver.Delivery, error) {
	skip, err := listJSON(r.Skip)
	if err != nil {
		return nil, err
	}
	now, limit := nanos(r.Now), max(r.Limit, 0) // SQLite takes one below zero for none
	var claimed []deliver.Delivery
	err = o.s.write(ctx, func(t *tx) error {
		ns, enough, err := claimable(t, now, limit, r.Skip)
		if err == nil && !enough {
			ns = nil
			err = each(t, claimBut, []any{now, limit, skip}, func(found *sql.Rows) error {
				var n int64
				err := found.Scan(&n)
				ns = append(ns, n)
				return wrap(err)
			})
		}
		if err != nil {
			return err
		}
		claimed, err = lease(t, ns, r.Now.Add(r.Lease))
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// lease moves Due of deliveries to until, and gives them in the order of ns.
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

func (o outbox) NextDue(ctx context.Context, parts *fleet.Set) (due time.Time, open bool, err error) {
	err = o.s.read(ctx, func(r *snapshot) error {
		open, err = one(r, `SELECT due_at FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`, nil, timeColumn{&due})
		return err
	})
	return due, open, err
}
