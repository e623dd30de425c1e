package sqlite

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// ledgerTx changes balances in a transaction. It reads each account once. save writes the accounts
// that have changed.
type ledgerTx struct {
	*tx
	now      time.Time
	accounts map[string]*account // by owner
}

// account is an owner's balance.
type account struct {
	billing.Balance
	changed bool
}

func newLedgerTx(t *tx, now time.Time) *ledgerTx {
	return &ledgerTx{tx: t, now: now, accounts: make(map[string]*account)}
}

// balanceOf reads an owner's balance. Expired reservations that are not given back yet count as
// reserved.
func balanceOf(a querier, owner string) (b billing.Balance, err error) {
	_, err = one(a, `SELECT available, reserved FROM owners WHERE owner = ?`, []any{owner}, &b.Available, &b.Reserved)
	return b, err
}

// account returns an owner's account. If the caller changes the account, it must set changed.
func (l *ledgerTx) account(owner string) (*account, error) {
	if a := l.accounts[owner]; a != nil {
		return a, nil
	}
	balance, err := balanceOf(l, owner)
	if err != nil {
		return nil, err
	}
	l.accounts[owner] = &account{Balance: balance}
	return l.accounts[owner], nil
}

// save writes the accounts that have changed.
func (l *ledgerTx) save() error {
	var values []any
	for owner, a := range l.accounts {
		if a.changed {
			values = append(values, owner, int64(a.Available), int64(a.Reserved))
		}
	}
	return l.execRows(`INSERT OR FAIL INTO owners (owner, available, reserved) VALUES {rows}
		ON CONFLICT DO UPDATE SET available = excluded.available, reserved = excluded.reserved`, 3, values)
}

// post adds an entry unless its id is known. It refuses the amounts that Append refuses.
func (l *ledgerTx) post(e billing.Entry) error {
	known, err := one(l, `SELECT 1 FROM ledger_entries WHERE id = ?1 UNION ALL SELECT 1 FROM removed_entries WHERE id = ?1`, []any{e.ID})
	if known || err != nil {
		return err
	}
	a, err := l.account(e.Owner)
	if err != nil {
		return err
	}
	if e.Amount < 0 && a.Available+e.Amount < 0 {
		return billing.ErrInsufficient
	}
	if e.Amount > 0 && e.Amount > math.MaxInt64-a.Available-a.Reserved {
		return billing.ErrAmount
	}
	a.Available += e.Amount
	a.changed = true
	crashpoint.Hit("sqlite.ledger.balance")
	l.added++
	if src, ok := e.Source(); ok {
		if err := l.addTotal(src, e.Amount); err != nil {
			return err
		}
	}
	return l.exec(`INSERT INTO ledger_entries (id, owner, kind, amount, balance, at,
		source_id, source_name, endpoint, num_accounts, tier_label, rate, recorded_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.Owner, string(e.Kind), int64(e.Amount), int64(a.Available+a.Reserved), optional(e.At),
		e.SourceID, e.SourceName, e.Endpoint, e.NumAccounts, e.TierLabel, int64(e.Rate), nanos(l.now))
}

// addTotal adds an entry to the total of its source.
func (l *ledgerTx) addTotal(src billing.Source, amount billing.Credits) error {
	var total billing.Credits
	_, err := one(l, `SELECT total FROM source_totals WHERE owner = ? AND kind = ? AND source_id = ?`,
		[]any{src.Owner, string(src.Kind), src.ID}, &total)
	if err != nil {
		return err
	}
	return l.exec(`INSERT INTO source_totals (owner, kind, source_id, total) VALUES (?, ?, ?, ?)
		ON CONFLICT DO UPDATE SET total = excluded.total`,
		src.Owner, string(src.Kind), src.ID, int64(billing.AddTotal(total, amount)))
}

// expire gives back the reservations that have expired.
func (l *ledgerTx) expire() error {
	ids, err := column[string](l, `SELECT id FROM reservations WHERE expires_at <= ? ORDER BY expires_at`, nanos(l.now))
	for i := 0; i < len(ids) && err == nil; i++ {
		_, err = l.resolve(ids[i], givenBack)
	}
	return err
}

// resolve ends an open reservation, makes its amount available again, and returns the reservation.
// It returns nil if the reservation was resolved in the same way before.
func (l *ledgerTx) resolve(id, how string) (*billing.Reservation, error) {
	var r billing.Reservation
	open, err := one(l, `SELECT owner, amount FROM reservations WHERE id = ?`, []any{id}, &r.Owner, &r.Amount)
	if err != nil {
		return nil, err
	}
	if !open {
		return nil, l.resolvedAs(id, how)
	}
	a, err := l.account(r.Owner)
	if err != nil {
		return nil, err
	}
	a.Reserved -= r.Amount
	a.Available += r.Amount
	a.changed = true
	crashpoint.Hit("sqlite.ledger.resolve")
	if err := l.exec(`DELETE FROM reservations WHERE id = ?`, id); err != nil {
		return nil, err
	}
	l.added++
	return &r, l.exec(`INSERT INTO resolved_reservations (id, recorded_at, outcome) VALUES (?, ?, ?)`, id, nanos(l.now), how)
}

// resolvedAs returns nil if the reservation was resolved in this way before, otherwise an error.
func (l *ledgerTx) resolvedAs(id, how string) error {
	var was string
	found, err := one(l, `SELECT outcome FROM resolved_reservations WHERE id = ?`, []any{id}, &was)
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
