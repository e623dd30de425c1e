package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// outbox implements deliver.Outbox.
type outbox struct{ s *Store }

// claimable are the deliveries due at now, the longest first, up to limit, and
// none of the endpoints left out. It looks through so many of these only as are
// soon looked through; when that is not enough, claimBut is needed.
func (t *tx) claimable(now int64, limit int, skip []string) (ns []int64, enough bool, err error) {
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

// claimBut gives what may be claimed at ?1, the longest due first, up to ?2,
// without the endpoints of ?3. It steps from lane to lane, so that a
// lane left out costs no more for what it has waiting; of the others, the wanted
// can only be among the first of those lanes whose first is longest due.
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
	now, limit := nanos(r.Now), max(r.Limit, 0) // below zero, SQLite sees no limit
	var claimed []deliver.Delivery
	err = o.s.write(ctx, func(t *tx) error {
		ns, enough, err := t.claimable(now, limit, r.Skip)
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
		claimed, err = t.lease(ns, r.Now.Add(r.Lease))
		return err
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// lease claims deliveries until a time, and gives them in the order of ns.
func (t *tx) lease(ns []int64, until time.Time) ([]deliver.Delivery, error) {
	list, err := listJSON(ns)
	if err != nil {
		return nil, err
	}
	if err := t.exec(`UPDATE deliveries SET due_at = ? WHERE n IN (SELECT value FROM json_each(?))`, nanos(until), list); err != nil {
		return nil, err
	}
	crashpoint.Hit("sqlite.claim.leased")
	return t.deliveries(ns)
}

// deliveries reads open ones with their events, in the order of ns.
func (t *tx) deliveries(ns []int64) ([]deliver.Delivery, error) {
	found := make([]deliver.Delivery, len(ns))
	list, err := listJSON(ns)
	if err != nil {
		return nil, err
	}
	er := newEventReader()
	err = each(t, `SELECT `+deliveryColumns+` FROM json_each(?) asked CROSS JOIN deliveries d ON d.n = asked.value`,
		[]any{list}, func(rows *sql.Rows) error {
			n, d, err := er.scanDelivery(rows)
			found[slices.Index(ns, n)] = d
			return err
		})
	if err == nil {
		err = er.unpack(t)
	}
	if err != nil {
		return nil, err
	}
	for i := range found {
		if found[i].Event == nil {
			return nil, fmt.Errorf("%w: delivery %d has no event", ErrCorrupt, ns[i])
		}
		found[i].CreatedAt = found[i].Event.CommittedAt // the same moment
	}
	return found, nil
}

func (o outbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	for i := range ss {
		if err := ss[i].Validate(); err != nil {
			return err
		}
	}
	return o.s.write(ctx, func(t *tx) error {
		now := o.s.opts.Now()
		for len(ss) > 0 {
			n := uniqueDeliveries(ss)
			if err := t.conclude(ss[:n], now); err != nil {
				return err
			}
			ss = ss[n:]
		}
		return nil
	})
}

// uniqueDeliveries is how many settlements can be looked at together: up to the
// first about a delivery that one before is about, too.
func uniqueDeliveries(ss []deliver.Settlement) int {
	seen := make(map[string]bool, len(ss))
	for i := range ss {
		if seen[ss[i].DeliveryID] {
			return i
		}
		seen[ss[i].DeliveryID] = true
	}
	return len(ss)
}

func (o outbox) NextDue(ctx context.Context) (due time.Time, open bool, err error) {
	err = o.s.read(ctx, func(r *snapshot) error {
		open, err = one(r, `SELECT due_at FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`, nil, timeColumn{&due})
		return err
	})
	return due, open, err
}
