package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"fmt"
	"math"
	"strconv"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// ledger implements billing.Ledger. An owner's available and reserved amounts are never
// negative, and their sum fits an int64.
type ledger struct{ s *Store }

// How a reservation was resolved.
const (
	committed = "committed"
	givenBack = "given back" // released or expired
)

func (l ledger) Reserve(ctx context.Context, r billing.Reservation) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return l.change(ctx, func(t *ledgerTx) error {
		open, err := one(t, `SELECT 1 FROM reservations WHERE id = ?`, []any{r.ID})
		if open || err != nil {
			return err
		}
		known, err := one(t, `SELECT 1 FROM resolved_reservations WHERE id = ?1
			UNION ALL SELECT 1 FROM ledger_entries WHERE id = ?1 UNION ALL SELECT 1 FROM removed_entries WHERE id = ?1`, []any{r.ID})
		if err != nil {
			return err
		}
		if known {
			return billing.ErrResolved
		}
		a, err := t.account(r.Owner)
		if err != nil {
			return err
		}
		if a.Available < r.Amount {
			return billing.ErrInsufficient
		}
		a.Available -= r.Amount
		a.Reserved += r.Amount
		a.changed = true
		crashpoint.Hit("sqlite.ledger.reserve")
		return t.exec(`INSERT INTO reservations (id, owner, amount, expires_at) VALUES (?, ?, ?, ?)`,
			r.ID, r.Owner, int64(r.Amount), optional(r.ExpiresAt))
	})
}

func (l ledger) Commit(ctx context.Context, id string, e billing.Entry) error {
	return l.change(ctx, func(t *ledgerTx) error {
		r, err := t.resolve(id, committed)
		if r == nil || err != nil {
			return err
		}
		// resolve has made the amount available; post charges it.
		e.ID, e.Owner, e.Amount = id, r.Owner, -r.Amount
		return t.post(e)
	})
}

func (l ledger) Release(ctx context.Context, id string) error {
	return l.change(ctx, func(t *ledgerTx) error {
		_, err := t.resolve(id, givenBack)
		return err
	})
}

func (l ledger) Append(ctx context.Context, entries ...billing.Entry) error {
	for i := range entries {
		if err := entries[i].Validate(); err != nil {
			return err
		}
	}
	return l.change(ctx, func(t *ledgerTx) error {
		for _, e := range entries {
			if err := t.post(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Balance counts expired reservations as given back. A later write gives them back.
func (l ledger) Balance(ctx context.Context, owner string) (b billing.Balance, err error) {
	err = l.s.read(ctx, func(r *snapshot) error {
		if b, err = balanceOf(r, owner); err != nil {
			return err
		}
		var expired billing.Credits
		_, err := one(r, `SELECT coalesce(sum(amount), 0) FROM reservations WHERE expires_at <= ? AND owner = ?`,
			[]any{nanos(l.s.opts.Now()), owner}, (*int64)(&expired))
		b.Available += expired
		b.Reserved -= expired
		return err
	})
	if err != nil {
		return billing.Balance{}, err
	}
	return b, nil
}

// enteredAt is SQL for an entry's time, which may be the zero time.
var enteredAt = fmt.Sprintf(`coalesce(at, %d)`, int64(math.MinInt64))

func (l ledger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	order := "DESC"
	if q.Asc {
		order = "ASC"
	}
	limit, offset := pageBounds(q.Page, q.PageSize)
	from := ` FROM ledger_entries WHERE owner = ? AND ? IN ('', source_id)`
	args := []any{q.Owner, q.SourceID}
	if !q.Since.IsZero() {
		from, args = from+` AND `+enteredAt+` >= ?`, append(args, nanos(q.Since))
	}
	if !q.Until.IsZero() {
		from, args = from+` AND `+enteredAt+` < ?`, append(args, nanos(q.Until))
	}
	behind, shown := "", []any(nil) // SQL for the rows after the cursor, and its arguments
	if q.Cursor != "" {
		n, err := strconv.ParseInt(q.Cursor, 10, 64)
		if err != nil {
			return billing.EntryPage{}, billing.ErrCursor
		}
		behind, shown, offset = " AND n "+beyond(q.Asc)+" ?", []any{n}, 0
	}
	page := billing.EntryPage{Entries: []billing.Entry{}}
	var ns []int64
	err := l.s.search(ctx, func(r *snapshot) error {
		if !q.NoTotal {
			if _, err := one(r, `SELECT count(*)`+from, args, &page.Total); err != nil {
				return err
			}
		}
		// Read one more row than a page has, to see whether another page follows.
		err := each(r, `SELECT n, id, owner, kind, amount, balance, at, source_id, source_name, endpoint, num_accounts, tier_label, rate`+
			from+behind+` ORDER BY n `+order+` LIMIT ? OFFSET ?`, append(append(args, shown...), limit+1, offset), func(found *sql.Rows) error {
			var n int64
			var e billing.Entry
			err := found.Scan(&n, &e.ID, &e.Owner, &e.Kind, &e.Amount, &e.Balance, timeColumn{&e.At},
				&e.SourceID, &e.SourceName, &e.Endpoint, &e.NumAccounts, &e.TierLabel, &e.Rate)
			page.Entries, ns = append(page.Entries, e), append(ns, n)
			return wrap(err)
		})
		if n := int(limit); len(ns) > n {
			page.Entries, page.Next = page.Entries[:n], strconv.FormatInt(ns[n-1], 10)
		}
		return err
	})
	if err != nil {
		return billing.EntryPage{}, err
	}
	return page, nil
}

// Totals reads the totals of all sources with one statement. The statement's argument is a JSON
// array of their keys. The keys are in hexadecimal, because JSON cannot have text that is not
// UTF-8.
func (l ledger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	totals := make([]billing.Credits, len(sources))
	asked := make([][3]string, len(sources))
	for i, src := range sources {
		asked[i] = [3]string{hex.EncodeToString([]byte(src.Owner)), hex.EncodeToString([]byte(src.Kind)), hex.EncodeToString([]byte(src.ID))}
	}
	err := l.s.read(ctx, func(r *snapshot) error {
		return each(r, `SELECT s.key, t.total FROM json_each(?) s CROSS JOIN source_totals t
			ON t.owner = CAST(unhex(s.value ->> 0) AS TEXT) AND t.kind = CAST(unhex(s.value ->> 1) AS TEXT)
			AND t.source_id = CAST(unhex(s.value ->> 2) AS TEXT)`, []any{jsonColumn{asked}}, func(rows *sql.Rows) error {
			var i int
			var total billing.Credits
			err := rows.Scan(&i, &total)
			totals[i] = total
			return wrap(err)
		})
	})
	if err != nil {
		return nil, err
	}
	return totals, nil
}

// change runs do in a write, after the expired reservations were given back.
func (l ledger) change(ctx context.Context, do func(*ledgerTx) error) error {
	return l.s.write(ctx, func(t *tx) error {
		changes := newLedgerTx(t, l.s.opts.Now())
		if err := changes.expire(); err != nil {
			return err
		}
		if err := do(changes); err != nil {
			return err
		}
		return changes.save()
	})
}
