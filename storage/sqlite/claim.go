package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// Claim and NextDue first look at the deliveries in the order of their due times. If too many
// of those are of endpoints that are not asked for, they go from lane to lane instead, by
// the index deliveries_of_endpoint: a lane is the open deliveries of one endpoint.

// claimable returns the deliveries due at now, the longest due first, up to limit, of the
// endpoints that r asks for. It looks at a bounded number of deliveries; enough reports
// whether that sufficed, or claimLanes is needed.
func claimable(t *tx, r *deliver.ClaimRequest, now int64, limit int) (ns []int64, enough bool, err error) {
	if r.Parts == nil && len(r.Skip) == 0 {
		ns, err = numbers(t, `SELECT n FROM deliveries WHERE due_at <= ? ORDER BY due_at, n LIMIT ?`, now, limit)
		return ns, true, err
	}
	parts, skip, err := asked(r)
	if err != nil {
		return nil, false, err
	}
	most := 1024 // deliveries of other endpoints to be looked at
	if parts != nil {
		most = 512 // in a fleet there are always some, due for other nodes
	}
	reach := min(limit, most) + most
	ns, err = numbers(t, `SELECT n FROM (SELECT n, due_at, part, endpoint_id FROM deliveries WHERE due_at <= ?1 ORDER BY due_at, n LIMIT ?3)
		WHERE (?4 IS NULL OR part IN (SELECT value FROM json_each(?4))) AND endpoint_id NOT IN (SELECT value FROM json_each(?5))
		ORDER BY due_at, n LIMIT ?2`, now, limit, reach, parts, skip)
	if err != nil || len(ns) == limit {
		return ns, true, err
	}
	more, err := t.exists(`SELECT 1 FROM deliveries WHERE due_at <= ? LIMIT 1 OFFSET ?`, now, reach)
	return ns, !more, err
}

// asked returns what r asks for as JSON: parts is NULL for all, and an empty list for none.
func asked(r *deliver.ClaimRequest) (parts, skip any, err error) {
	if r.Parts != nil {
		if parts, err = partsJSON(*r.Parts); err != nil {
			return nil, nil, err
		}
	}
	skip, err = listJSON(r.Skip)
	return parts, skip, err
}

// partsJSON encodes a set of parts for json_each.
func partsJSON(s fleet.Set) (any, error) {
	list, err := listJSON(slices.Collect(s.All()))
	if list == nil && err == nil {
		list = "[]"
	}
	return list, err
}

// numbers returns the first column of a query's rows.
func numbers(a querier, query string, args ...any) (ns []int64, err error) {
	err = each(a, query, args, func(rows *sql.Rows) error {
		var n int64
		err := rows.Scan(&n)
		ns = append(ns, n)
		return wrap(err)
	})
	return ns, err
}

// openLanes begins a query: its table lane has the endpoints of the parts in ?1 that have
// open deliveries.
const openLanes = `WITH RECURSIVE
	own (part) AS (SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM deliveries d WHERE d.due_at IS NOT NULL AND d.part = value)),
	lane (part, id) AS (
		SELECT own.part, (SELECT min(d.endpoint_id) FROM deliveries d WHERE d.due_at IS NOT NULL AND d.part = own.part) FROM own
		UNION ALL
		SELECT lane.part, (SELECT min(d.endpoint_id) FROM deliveries d
			WHERE d.due_at IS NOT NULL AND d.part = lane.part AND d.endpoint_id > lane.id)
		FROM lane WHERE lane.id IS NOT NULL)`

// anyLanes is openLanes for all parts, which it finds one after the other in the index.
var anyLanes = strings.Replace(openLanes,
	`SELECT value FROM json_each(?1) WHERE EXISTS (SELECT 1 FROM deliveries d WHERE d.due_at IS NOT NULL AND d.part = value)`,
	`SELECT min(part) FROM deliveries WHERE due_at IS NOT NULL AND ?1 IS NULL
		UNION ALL
		SELECT (SELECT min(d.part) FROM deliveries d WHERE d.due_at IS NOT NULL AND d.part > own.part) FROM own WHERE own.part IS NOT NULL`, 1)

// claimBut selects the deliveries due at ?2, the longest due first, up to ?3, of the open
// lanes except those in ?4, whose deliveries it does not read. It looks only at the ?3 lanes
// whose first delivery is the longest due, and at ?3 deliveries in each: the others cannot be
// among the first ?3.
const claimBut = `,
	head (part, id) AS (
		SELECT lane.part, lane.id FROM lane JOIN deliveries d ON d.n = (
			SELECT f.n FROM deliveries f WHERE f.part = lane.part AND f.endpoint_id = lane.id AND f.due_at <= ?2 ORDER BY f.due_at, f.n LIMIT 1)
		WHERE lane.id NOT IN (SELECT value FROM json_each(?4))
		ORDER BY d.due_at, d.n LIMIT ?3)
	SELECT d.n FROM head CROSS JOIN deliveries d ON d.n IN (
		SELECT f.n FROM deliveries f WHERE f.part = head.part AND f.endpoint_id = head.id AND f.due_at <= ?2 ORDER BY f.due_at, f.n LIMIT ?3)
	ORDER BY d.due_at, d.n LIMIT ?3`

// claimLanes is claimable by going from lane to lane.
func claimLanes(a querier, r *deliver.ClaimRequest, now int64, limit int) ([]int64, error) {
	parts, skip, err := asked(r)
	if err != nil {
		return nil, err
	}
	lanes := openLanes
	if parts == nil {
		lanes = anyLanes
	}
	return numbers(a, lanes+claimBut, parts, now, limit, skip)
}

// NextDue implements deliver.Outbox.
func (o outbox) NextDue(ctx context.Context, parts *fleet.Set) (due time.Time, open bool, err error) {
	err = o.s.read(ctx, func(r *snapshot) error {
		if parts == nil {
			open, err = one(r, `SELECT due_at FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`, nil, timeColumn{&due})
			return err
		}
		due, open, err = nextOf(r, parts)
		return err
	})
	return due, open, err
}

// nextOf is NextDue for some parts.
func nextOf(r *snapshot, parts *fleet.Set) (due time.Time, open bool, err error) {
	const most = 128
	errFound := errors.New("found")
	seen := 0
	err = each(r, `SELECT due_at, part FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?`, []any{most}, func(rows *sql.Rows) error {
		seen++
		var part fleet.Part
		if err := rows.Scan(timeColumn{&due}, &part); err != nil {
			return wrap(err)
		}
		if parts.Has(part) {
			return errFound
		}
		return nil
	})
	switch {
	case errors.Is(err, errFound):
		return due, true, nil
	case err != nil || seen < most:
		return time.Time{}, false, err
	}
	list, err := partsJSON(*parts)
	if err != nil {
		return time.Time{}, false, err
	}
	var first sql.NullInt64
	_, err = one(r, openLanes+` SELECT min((SELECT min(d.due_at) FROM deliveries d
		WHERE d.part = lane.part AND d.endpoint_id = lane.id AND d.due_at IS NOT NULL)) FROM lane`, []any{list}, &first)
	return timeOf(first.Int64), first.Valid, err
}
