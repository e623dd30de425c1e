package sqlstore

import (
	"cmp"
	"fmt"

	"github.com/streamwatch/streamwatch/deliver"
)

// claimReach is the maximum number of due deliveries to others' endpoints that Claim reads in order
// of due time. If there are more, it uses the query claimLanes instead.
const claimReach = 1024

// claimable returns the numbers of up to r.Limit deliveries due at r.Now, earliest due first, and
// locks them. It leaves out deliveries to endpoints in r.Skip, or not in r.Parts.
func (s *Store) claimable(t Tx, r *deliver.ClaimRequest) (ns []int64, err error) {
	now, limit := nanos(r.Now), max(r.Limit, 0) // to SQLite, a negative limit means none
	parts := s.Lanes && r.Parts != nil
	if len(r.Skip) == 0 && !parts {
		return column[int64](t, `SELECT n FROM deliveries WHERE due_at <= ? ORDER BY due_at, n LIMIT ?`+s.SkipLocked, now, limit)
	}
	reach := min(limit, claimReach) + claimReach
	own, args := `d.endpoint_id NOT IN {texts ?3}`, []any{now, limit, Texts(r.Skip)}
	if parts {
		own, args = own+` AND d.part IN {ints ?4}`, append(args, partsList(r.Parts))
	}
	ns, err = column[int64](t, fmt.Sprintf(s.FirstDue, reach)+own+` ORDER BY d.due_at, d.n LIMIT ?2`+s.SkipLocked, args...)
	if err != nil || len(ns) == limit {
		return ns, err
	}
	more, err := One(t, `SELECT 1 FROM deliveries WHERE due_at <= ? LIMIT 1 OFFSET ?`, []any{now, reach})
	if err != nil || !more {
		return ns, err
	}
	ns, err = column[int64](t, fmt.Sprintf(cmp.Or(s.ClaimLanes, claimLanes), own), args...)
	if err != nil || s.SkipLocked == "" {
		return ns, err
	}
	return column[int64](t, `SELECT n FROM deliveries WHERE n IN {ints ?} AND due_at <= ? ORDER BY due_at, n`+s.SkipLocked, Ints(ns), now)
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
		WHERE %s
		ORDER BY d.due_at, d.n LIMIT ?2)
	SELECT d.n FROM head {join} deliveries d ON d.n IN (
		SELECT f.n FROM deliveries f WHERE f.endpoint_id = head.id AND f.due_at <= ?1 ORDER BY f.due_at, f.n LIMIT ?2)
	ORDER BY d.due_at, d.n LIMIT ?2`
