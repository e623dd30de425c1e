package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/storage/internal/crashpoint"
)

// outbox implements deliver.Outbox.
type outbox struct{ s *Store }

// What may be claimed at ?1, the longest due first, up to ?2.
const claimAny = `SELECT n FROM deliveries WHERE due_at <= ?1 ORDER BY due_at, n LIMIT ?2`

// The same without the endpoints of ?3. It steps from lane to lane, so that a
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
	query, args := claimAny, []any{nanos(r.Now), max(r.Limit, 0)} // below zero, SQLite sees no limit
	if len(r.Skip) > 0 {
		skip, err := listJSON(r.Skip)
		if err != nil {
			return nil, err
		}
		query, args = claimBut, append(args, skip)
	}
	var claimed []deliver.Delivery
	err := o.s.write(ctx, func(t *tx) error {
		claimed = make([]deliver.Delivery, 0, max(r.Limit, 0))
		var rows []int64
		err := each(t, query, args, func(found *sql.Rows) error {
			var n int64
			err := found.Scan(&n)
			rows = append(rows, n)
			return wrap(err)
		})
		if err != nil {
			return err
		}
		dr := deliveryReader{events: make(map[int64]*deliver.Event)}
		for _, n := range rows {
			if err := t.exec(`UPDATE deliveries SET due_at = ? WHERE n = ?`, nanos(r.Now.Add(r.Lease)), n); err != nil {
				return err
			}
			crashpoint.Hit("sqlite.claim.leased")
			err := each(t, `SELECT `+deliveryColumns+` FROM deliveries d JOIN events e ON e.n = d.event WHERE d.n = ?`,
				[]any{n}, func(found *sql.Rows) error {
					_, d, err := dr.scan(found)
					claimed = append(claimed, d)
					return err
				})
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return claimed, nil
}

// Settle refuses all settlements when one with an attempt has a number below 1
// or a state that does not follow an attempt.
func (o outbox) Settle(ctx context.Context, ss ...deliver.Settlement) error {
	for i := range ss {
		if err := checkSettlement(&ss[i]); err != nil {
			return err
		}
	}
	return o.s.write(ctx, func(t *tx) error {
		now := o.s.opts.Now()
		for i := range ss {
			if err := t.conclude(&ss[i], now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (o outbox) NextDue(ctx context.Context) (due time.Time, open bool, err error) {
	err = o.s.read(ctx, func(r *snapshot) error {
		open, err = one(r, `SELECT due_at FROM deliveries WHERE due_at IS NOT NULL ORDER BY due_at LIMIT 1`, nil, timeColumn{&due})
		return err
	})
	return due, open, err
}

func checkSettlement(st *deliver.Settlement) error {
	if st.Attempt == nil {
		return nil
	}
	if st.Attempt.N < 1 {
		return &deliver.FieldError{Field: "Settlement.Attempt.N", Value: fmt.Sprint(st.Attempt.N), Allowed: "1 or more"}
	}
	if st.State != deliver.StateRetrying && !st.State.Final() {
		return &deliver.FieldError{Field: "Settlement.State", Value: string(st.State), Allowed: "retrying, delivered or failed"}
	}
	return nil
}

// conclude applies a checked settlement.
func (t *tx) conclude(st *deliver.Settlement, now time.Time) error {
	var n, event int64
	open, err := one(t, `SELECT n, event FROM deliveries WHERE id = ? AND due_at IS NOT NULL`, []any{st.DeliveryID}, &n, &event)
	if !open || err != nil {
		return err
	}
	a := st.Attempt
	if a == nil { // given back
		return t.exec(`UPDATE deliveries SET due_at = ? WHERE n = ?`, nanos(st.Due), n)
	}
	recorded, err := t.change(`INSERT INTO attempts (delivery, attempt, at, duration, status_code, error, response_preview)
		VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		n, a.N, optional(a.At), int64(a.Duration), a.StatusCode, a.Error, a.ResponsePreview)
	if recorded == 0 || err != nil {
		return err
	}
	crashpoint.Hit("sqlite.settle.attempt")
	if !st.State.Final() {
		return t.exec(`UPDATE deliveries SET state = ?, due_at = ? WHERE n = ?`, string(st.State), nanos(st.Due), n)
	}
	if err := t.exec(`UPDATE deliveries SET state = ?, due_at = NULL WHERE n = ?`, string(st.State), n); err != nil {
		return err
	}
	more, err := t.exists(`SELECT 1 FROM deliveries WHERE event = ? AND due_at IS NOT NULL LIMIT 1`, event)
	if more || err != nil {
		return err
	}
	return t.settle(event, now)
}
