package sqlstore

import (
	"context"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// ledger implements billing.Ledger. An owner's available and reserved amounts are never
// negative, and their sum fits an int64.
type ledger struct{ *Store }

// How a reservation was resolved.
const (
	committed = "committed"
	givenBack = "given back" // released or expired
)

func (l ledger) Reserve(ctx context.Context, r billing.Reservation) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return l.change(ctx, Texts{r.Owner}, []billing.Entry{{ID: r.ID, Owner: r.Owner}}, func(t *ledgerTx) error {
		_, open, err := t.reservation(r.ID)
		if open || err != nil {
			return err
		}
		if err := t.resolvedAs(r.ID, ""); t.known[r.ID] || err == billing.ErrResolved {
			return billing.ErrResolved
		} else if err != billing.ErrNotFound {
			return err
		}
		a := t.accounts[r.Owner]
		if a.Available < r.Amount {
			return billing.ErrInsufficient
		}
		a.Available -= r.Amount
		a.Reserved += r.Amount
		a.changed = true
		crashpoint.Hit("sqlstore.ledger.reserve")
		return t.t.Exec(`INSERT INTO reservations (id, owner, amount, expires_at) VALUES (?, ?, ?, ?)`,
			r.ID, r.Owner, int64(r.Amount), optional(r.ExpiresAt))
	})
}

func (l ledger) Commit(ctx context.Context, id string, e billing.Entry) error {
	e.ID = id
	return l.end(ctx, e, committed)
}

func (l ledger) Release(ctx context.Context, id string) error {
	return l.end(ctx, billing.Entry{ID: id}, givenBack)
}

// end ends the reservation with the id of an entry. Committed, its amount is charged by the entry.
func (l ledger) end(ctx context.Context, e billing.Entry, how string) error {
	return l.Write(ctx, func(t Tx) error {
		changes := newLedgerTx(l.Store, t, l.Now())
		r, open, err := changes.reservation(e.ID)
		if err != nil {
			return err
		}
		if !open {
			return changes.resolvedAs(e.ID, how)
		}
		e.Owner, e.Amount = r.owner, -r.amount
		return changes.run(Texts{r.owner}, []billing.Entry{e}, func() error {
			r, open, err := changes.reservation(e.ID) // it may have ended just now
			if err != nil {
				return err
			}
			if !open {
				return changes.resolvedAs(e.ID, how)
			}
			if err := changes.resolve(r, how); err != nil || how != committed {
				return err
			}
			return changes.post(e)
		})
	})
}

func (l ledger) Append(ctx context.Context, entries ...billing.Entry) error {
	var owners []string
	for i := range entries {
		if err := entries[i].Validate(); err != nil {
			return err
		}
		owners = append(owners, entries[i].Owner)
	}
	slices.Sort(owners)
	return l.change(ctx, slices.Compact(owners), entries, func(t *ledgerTx) error {
		for _, e := range entries {
			if err := t.post(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Balance counts expired reservations as given back. A later write of the owner gives them back.
func (l ledger) Balance(ctx context.Context, owner string) (b billing.Balance, err error) {
	err = l.Read(ctx, func(q Querier) error {
		var expired billing.Credits
		_, err := One(q, `SELECT available, reserved, (SELECT CAST(coalesce(sum(amount), 0) AS BIGINT) FROM reservations r
			WHERE r.expires_at <= ? AND r.owner = owners.owner) FROM owners WHERE owner = ?`,
			[]any{nanos(l.Now()), owner}, &b.Available, &b.Reserved, &expired)
		b.Available += expired
		b.Reserved -= expired
		return err
	})
	return b, err
}

// entryColumns are the columns of an entry; a row to insert also has recorded_at at the end.
const (
	entryColumns  = `id, owner, kind, amount, balance, at, source_id, source_name, endpoint, num_accounts, tier_label, rate`
	insertEntries = `{insert} ledger_entries (` + entryColumns + `, recorded_at) {rows text,text,text,int,int,int,text,text,text,int,text,int,int}`
)

func entryFields(e *billing.Entry) []any {
	return []any{&e.ID, &e.Owner, &e.Kind, &e.Amount, &e.Balance, timeColumn{&e.At},
		&e.SourceID, &e.SourceName, &e.Endpoint, &e.NumAccounts, &e.TierLabel, &e.Rate}
}

// appendEntry appends a row to insert.
func appendEntry(values []any, e *billing.Entry, recorded time.Time) []any {
	return append(values, e.ID, e.Owner, string(e.Kind), int64(e.Amount), int64(e.Balance), optional(e.At),
		e.SourceID, e.SourceName, e.Endpoint, int64(e.NumAccounts), e.TierLabel, int64(e.Rate), nanos(recorded))
}

// enteredAt is SQL for an entry's time, which may be the zero time.
const enteredAt = `coalesce(at, ` + zeroTime + `)`

func (l ledger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	way, beyond := sorted(q.Asc)
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
		behind, shown, offset = " AND n "+beyond+" ?", []any{n}, 0
	}
	var page billing.EntryPage
	err := l.Search(ctx, func(r Querier) error {
		page = billing.EntryPage{Entries: []billing.Entry{}}
		var ns []int64
		if !q.NoTotal {
			if _, err := One(r, `SELECT count(*)`+from, args, &page.Total); err != nil {
				return err
			}
		}
		// Read one more row than a page has, to see whether another page follows.
		err := each(r, `SELECT n, `+entryColumns+
			from+behind+` ORDER BY n `+way+` LIMIT ? OFFSET ?`, append(append(args, shown...), limit+1, offset), func(found Rows) error {
			var n int64
			var e billing.Entry
			err := found.Scan(append([]any{&n}, entryFields(&e)...)...)
			page.Entries, ns = append(page.Entries, e), append(ns, n)
			return err
		})
		if n := int(limit); len(ns) > n {
			page.Entries, page.Next = page.Entries[:n], strconv.FormatInt(ns[n-1], 10)
		}
		return err
	})
	return page, err
}

func (l ledger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	totals := make([]billing.Credits, len(sources))
	query, args := l.Dialect.Totals(sources)
	err := l.Read(ctx, func(q Querier) error {
		return each(q, query, args, func(rows Rows) error {
			var i int
			var total billing.Credits
			err := rows.Scan(&i, &total)
			totals[i] = total
			return err
		})
	})
	return totals, err
}

// change runs do in a write of some owners, with the entries loaded.
func (l ledger) change(ctx context.Context, owners Texts, entries []billing.Entry, do func(*ledgerTx) error) error {
	return l.Write(ctx, func(t Tx) error {
		changes := newLedgerTx(l.Store, t, l.Now())
		return changes.run(owners, entries, func() error { return do(changes) })
	})
}

func (l *ledgerTx) run(owners Texts, entries []billing.Entry, do func() error) error {
	if err := l.LockOwners(l.t, owners...); err != nil {
		return err
	}
	if err := l.load(entries...); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return l.save()
}

// reservation returns an open reservation.
func (l *ledgerTx) reservation(id string) (r openReservation, open bool, err error) {
	r.id = id
	open, err = One(l.t, `SELECT owner, amount FROM reservations WHERE id = ?`, []any{id}, &r.owner, &r.amount)
	return r, open, err
}

// resolvedAs returns nil if the reservation was resolved in this way before, otherwise an error.
func (l *ledgerTx) resolvedAs(id, how string) error {
	was, found := l.ended[id]
	var err error
	if !found {
		found, err = One(l.t, `SELECT outcome FROM resolved_reservations WHERE id = ?`, []any{id}, &was)
	}
	switch {
	case err != nil:
		return err
	case !found:
		return billing.ErrNotFound
	case was != how:
		return billing.ErrResolved
	}
	return nil
}
