package sqlite

import (
	"database/sql"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// account is what is known about an owner. It is written once by a call.
type account struct {
	lastSeq uint64
	billing.Balance
	changed bool
}

// balanceOf an owner, expired reservations still held; zero for one never seen.
func balanceOf(a asker, owner string) (b billing.Balance, err error) {
	_, err = one(a, `SELECT available, reserved FROM owners WHERE owner = ?`, []any{owner}, &b.Available, &b.Reserved)
	return b, err
}

// account is an owner's; whoever changes it says so in changed.
func (t *tx) account(owner string) (*account, error) {
	if a := t.owners[owner]; a != nil {
		return a, nil
	}
	a := t.w.known.owners[owner]
	if a == nil {
		a = new(account)
		_, err := one(t, `SELECT max(coalesce(o.last_seq, 0), coalesce((SELECT max(seq) FROM events WHERE owner = ?1), 0)),
			coalesce(o.available, 0), coalesce(o.reserved, 0) FROM (SELECT 1) LEFT JOIN owners o ON o.owner = ?1`,
			[]any{owner}, &a.lastSeq, &a.Available, &a.Reserved)
		if err != nil {
			return nil, err
		}
		a.lastSeq = max(a.lastSeq, t.late.lastSeq(owner))
		t.w.known.owners[owner] = a
	}
	t.owners[owner] = a
	return a, nil
}

// saveOwners writes the accounts that the call has changed.
func (t *tx) saveOwners() error {
	var values []any
	for owner, a := range t.owners {
		if a.changed {
			values = append(values, owner, int64(a.lastSeq), int64(a.Available), int64(a.Reserved))
			a.changed = false
		}
	}
	clear(t.owners)
	return t.execRows(`INSERT INTO owners (owner, last_seq, available, reserved) VALUES {rows}
		ON CONFLICT DO UPDATE SET last_seq = excluded.last_seq, available = excluded.available, reserved = excluded.reserved`, 4, values)
}

// post makes one entry, unless its id is known or its amount is refused.
func (t *tx) post(e billing.Entry, now time.Time) error {
	known, err := t.exists(`SELECT 1 FROM ledger_entries WHERE id = ?1 UNION ALL SELECT 1 FROM removed_entries WHERE id = ?1`, e.ID)
	if known || err != nil {
		return err
	}
	a, err := t.account(e.Owner)
	if err != nil {
		return err
	}
	if err := t.afford(e.Owner, a, e.Amount, now); err != nil {
		return err
	}
	if e.Amount > 0 && e.Amount > math.MaxInt64-a.Available-a.Reserved {
		return billing.ErrAmount
	}
	a.Available += e.Amount
	a.changed = true
	crashpoint.Hit("sqlite.ledger.balance")
	t.entries++
	if src, ok := e.Source(); ok {
		if err := t.addTotal(src, e.Amount); err != nil {
			return err
		}
	}
	return t.exec(`INSERT INTO ledger_entries (id, owner, kind, amount, balance, at,
		source_id, source_name, endpoint, num_accounts, tier_label, rate, recorded_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.Owner, string(e.Kind), int64(e.Amount), int64(a.Available+a.Reserved), optional(e.At),
		e.SourceID, e.SourceName, e.Endpoint, e.NumAccounts, e.TierLabel, int64(e.Rate), nanos(now))
}

// addTotal counts an entry of a source.
func (t *tx) addTotal(src billing.Source, amount billing.Credits) error {
	var total billing.Credits
	_, err := one(t, `SELECT total FROM source_totals WHERE owner = ? AND kind = ? AND source_id = ?`,
		[]any{src.Owner, string(src.Kind), src.ID}, &total)
	if err != nil {
		return err
	}
	return t.exec(`INSERT INTO source_totals (owner, kind, source_id, total) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET total = excluded.total`,
		src.Owner, string(src.Kind), src.ID, int64(billing.AddTotal(total, amount)))
}

// expireStep bounds the reservations that have ended of which one transaction
// records it, but for those it needs: what others have set free counts in Balance,
// afford and lapse.
const expireStep = "64"

// expire gives back some reservations that have ended, the first ones first.
func (t *tx) expire(now time.Time) error {
	_, err := t.giveBack(now, `SELECT id FROM reservations WHERE expires_at <= ? ORDER BY expires_at LIMIT `+expireStep, nanos(now))
	return err
}

// lapse gives back the reservation with this id if it has ended.
func (t *tx) lapse(id string, now time.Time) error {
	_, err := t.giveBack(now, `SELECT id FROM reservations WHERE id = ? AND expires_at <= ?`, id, nanos(now))
	return err
}

// afford is ErrInsufficient when the amount, below zero, is more than an owner has
// available with what reservations that have ended give back.
func (t *tx) afford(owner string, a *account, amount billing.Credits, now time.Time) error {
	for amount < 0 && a.Available+amount < 0 {
		n, err := t.giveBack(now, `SELECT id FROM reservations WHERE owner = ? AND expires_at <= ? ORDER BY expires_at LIMIT `+expireStep,
			owner, nanos(now))
		if err != nil {
			return err
		}
		if n == 0 {
			return billing.ErrInsufficient
		}
	}
	return nil
}

// giveBack resolves the reservations that a query names, and says how many.
func (t *tx) giveBack(now time.Time, query string, args ...any) (int, error) {
	var ids []string
	err := each(t, query, args, func(rows *sql.Rows) error {
		var id string
		err := rows.Scan(&id)
		ids = append(ids, id)
		return wrap(err)
	})
	for i := 0; i < len(ids) && err == nil; i++ {
		_, err = t.resolve(ids[i], givenBack, now)
	}
	return len(ids), err
}

// resolve ends an open reservation, makes its amount available, and gives what
// it was; nil when it was resolved in the same way before.
func (t *tx) resolve(id, how string, now time.Time) (*billing.Reservation, error) {
	var r billing.Reservation
	open, err := one(t, `SELECT owner, amount FROM reservations WHERE id = ?`, []any{id}, &r.Owner, &r.Amount)
	if err != nil {
		return nil, err
	}
	if !open {
		return nil, t.resolvedAs(id, how)
	}
	a, err := t.account(r.Owner)
	if err != nil {
		return nil, err
	}
	a.Reserved -= r.Amount
	a.Available += r.Amount
	a.changed = true
	crashpoint.Hit("sqlite.ledger.resolve")
	if err := t.exec(`DELETE FROM reservations WHERE id = ?`, id); err != nil {
		return nil, err
	}
	t.resolved++
	return &r, t.exec(`INSERT INTO resolved_reservations (id, recorded_at, outcome) VALUES (?, ?, ?)`, id, nanos(now), how)
}

// resolvedAs answers a repeated resolution: nil when it was the same.
func (t *tx) resolvedAs(id, how string) error {
	var was string
	found, err := one(t, `SELECT outcome FROM resolved_reservations WHERE id = ?`, []any{id}, &was)
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
