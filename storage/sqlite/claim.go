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

// A claim, and the question when something is due, look at the deliveries in the
// order of their times first. When too many are there that are not asked for, they go
// from lane to lane instead: a lane is what is open for one endpoint, and its
// endpoint's part comes first in the index deliveries_of_endpoint.

// most is how many deliveries that are not asked for are read before that.
const most = 1024

// errEnough ends a query whose further rows are not needed.
var errEnough = errors.New("sqlite: enough")

// claimable gives the deliveries due at now, the longest due first, up to limit,
// of the endpoints that r asks for. It reads up to most more than limit; enough
// reports whether that was sufficient, or claimBut is needed.
func claimable(t *tx, r *deliver.ClaimRequest, now int64, limit int) (ns []int64, enough bool, err error) {
	if limit == 0 {
		return nil, true, nil
	}
	reach := limit
	if len(r.Skip) > 0 || r.Parts != nil {
		reach = min(limit, most) + most
	}
	seen := 0
	err = each(t, `SELECT n, endpoint_id, part FROM deliveries WHERE due_at <= ? ORDER BY due_at, n LIMIT ?`, []any{now, reach}, func(found *sql.Rows) error {
		var n int64
		var endpoint string
		var part fleet.Part
		err := found.Scan(&n, &endpoint, &part)
		if seen++; r.Parts.Has(part) && !slices.Contains(r.Skip, endpoint) {
			ns = append(ns, n)
		}
		if err == nil && len(ns) == limit {
			return errEnough
		}
		return wrap(err)
	})
	if errors.Is(err, errEnough) {
		return ns, true, nil
	}
	return ns, seen < reach, err
}

// openLanes are the endpoints that have open deliveries, of the parts in ?1, as SQL
// that begins a query.
const openLanes = `WITH RECURSIVE
	own (part) AS (SELECT value FROM json_each(?1)),
	lane (part, id) AS (
		SELECT own.part, (SELECT min(d.endpoint_id) FROM deliveries d WHERE d.due_at IS NOT NULL AND d.part = own.part) FROM own
		UNION ALL
		SELECT lane.part, (SELECT min(d.endpoint_id) FROM deliveries d
			WHERE d.due_at IS NOT NULL AND d.part = lane.part AND d.endpoint_id > lane.id)
		FROM lane WHERE lane.id IS NOT NULL)`

// ofLanes completes a query of openLanes. Without parts it is of all that have open
// deliveries, found one by one.
func ofLanes(parts *fleet.Set, query string) (string, any, error) {
	if parts == nil {
		return strings.Replace(openLanes+query, `SELECT value FROM json_each(?1)`,
			`SELECT min(part) FROM deliveries WHERE due_at IS NOT NULL AND ?1 IS NULL
		UNION ALL
		SELECT (SELECT min(d.part) FROM deliveries d WHERE d.due_at IS NOT NULL AND d.part > own.part) FROM own WHERE own.part IS NOT NULL`, 1), nil, nil
	}
	list, err := listJSON(slices.Collect(parts.All()))
	return openLanes + query, list, err
}

// claimBut selects the deliveries due at ?2, the longest due first, up to ?3, of the
// open lanes but those in ?4. It reads nothing of what is due for those left out. What
// it selects is among the first ?3 of the lanes whose own first deliveries are longest
// due.
const claimBut = `,
	head (part, id) AS (
		SELECT lane.part, lane.id FROM lane JOIN deliveries d ON d.n = (
			SELECT f.n FROM deliveries f WHERE f.part = lane.part AND f.endpoint_id = lane.id AND f.due_at <= ?2 ORDER BY f.due_at, f.n LIMIT 1)
		WHERE lane.id NOT IN (SELECT value FROM json_each(?4))
		ORDER BY d.due_at, d.n LIMIT ?3)
	SELECT d.n FROM head CROSS JOIN deliveries d ON d.n IN (
		SELECT f.n FROM deliveries f WHERE f.part = head.part AND f.endpoint_id = head.id AND f.due_at <= ?2 ORDER BY f.due_at, f.n LIMIT ?3)
	ORDER BY d.due_at, d.n LIMIT ?3`

// claimLanes is claimable, from lane to lane.
func claimLanes(t *tx, r *deliver.ClaimRequest, now int64, limit int) (ns []int64, err error) {
	query, parts, err := ofLanes(r.Parts, claimBut)
	if err != nil {
		return nil, err
	}
	skip, err := listJSON(r.Skip)
	if err != nil {
		return nil, err
	}
	err = each(t, query, []any{parts, now, limit, skip}, func(found *sql.Rows) error {
		var n int64
		err := found.Scan(&n)
		ns = append(ns, n)
		return wrap(err)
	})
	return ns, err
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

// nextOf is NextDue of some parts.
func nextOf(r *snapshot, parts *fleet.Set) (due time.Time, open bool, err error) {
	seen := 0
	err = each(r, `SELECT due_at, part FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT ?`, []any{most}, func(found *sql.Rows) error {
		seen++
		var at time.Time
		var part fleet.Part
		err := found.Scan(timeColumn{&at}, &part)
		if err == nil && parts.Has(part) {
			due = at
			return errEnough
		}
		return wrap(err)
	})
	if errors.Is(err, errEnough) {
		return due, true, nil
	}
	if err != nil || seen < most {
		return due, false, err
	}
	query, list, err := ofLanes(parts, ` SELECT min((SELECT min(d.due_at) FROM deliveries d
		WHERE d.part = lane.part AND d.endpoint_id = lane.id AND d.due_at IS NOT NULL)) FROM lane`)
	if err != nil {
		return due, false, err
	}
	var first sql.NullInt64
	_, err = one(r, query, []any{list}, &first)
	return timeOf(first.Int64), first.Valid, err
}
