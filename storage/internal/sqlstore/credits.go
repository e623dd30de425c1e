package sqlstore

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/internal/crashpoint"
)

// ledgerTx changes balances in a transaction. load reads what the calls of it need, these change
// that, and save writes what has changed.
type ledgerTx struct {
	*Store
	t        Tx
	now      time.Time
	accounts map[string]*account // by owner
	known    map[string]bool     // ids of entries
	totals   map[billing.Source]*total
	entries  []any // rows to write
	resolved []any
	added    int               // rows of both
	ended    map[string]string // how reservations were resolved by this transaction
}

// account is an owner's balance.
type account struct {
	billing.Balance
	changed bool
}

// total is the sum of a source's entries.
type total struct {
	sum     billing.Credits
	changed bool
}

func newLedgerTx(s *Store, t Tx, now time.Time) *ledgerTx {
	return &ledgerTx{Store: s, t: t, now: now, accounts: make(map[string]*account), known: make(map[string]bool), totals: make(map[billing.Source]*total), ended: make(map[string]string)}
}

// load reads the accounts of the entries' owners, the totals of their sources, and which of the
// entries are known. It gives back the owners' expired reservations.
func (l *ledgerTx) load(entries ...billing.Entry) error {
	var owners, expiring, ids, sources []any
	for i := range entries {
		e := &entries[i]
		if l.accounts[e.Owner] == nil {
			l.accounts[e.Owner] = new(account)
			owners = append(owners, e.Owner)
			expiring = append(expiring, e.Owner, nanos(l.now))
		}
		ids = append(ids, e.ID)
		if src, ok := e.Source(); ok && l.totals[src] == nil {
			l.totals[src] = new(total)
			sources = append(sources, src.Owner, string(src.Kind), src.ID)
		}
	}
	var expired []openReservation
	for _, ask := range []struct {
		query  string
		values []any
		row    func(Rows) error
	}{
		{`SELECT owner, available, reserved FROM owners WHERE owner IN ({rows text})`, owners, func(rows Rows) error {
			var owner string
			var b billing.Balance
			err := rows.Scan(&owner, &b.Available, &b.Reserved)
			l.accounts[owner] = &account{Balance: b}
			return err
		}},
		{`WITH asked (owner, now) AS ({rows text,int}) SELECT r.id, r.owner, r.amount FROM asked {join} reservations r
			ON r.owner = asked.owner AND r.expires_at <= asked.now`, expiring, func(rows Rows) error {
			var r openReservation
			err := rows.Scan(&r.id, &r.owner, &r.amount)
			expired = append(expired, r)
			return err
		}},
		{`WITH asked (id) AS ({rows text}) SELECT id FROM asked
			WHERE coalesce((SELECT 1 FROM ledger_entries e WHERE e.id = asked.id), (SELECT 1 FROM removed_entries r WHERE r.id = asked.id)) IS NOT NULL`,
			ids, func(rows Rows) error {
				var id string
				err := rows.Scan(&id)
				l.known[id] = true
				return err
			}},
		{`WITH asked (owner, kind, source_id) AS ({rows text,text,text}) SELECT s.owner, s.kind, s.source_id, s.total FROM asked {join} source_totals s
			ON s.owner = asked.owner AND s.kind = asked.kind AND s.source_id = asked.source_id`, sources, func(rows Rows) error {
			var src billing.Source
			var sum billing.Credits
			err := rows.Scan(&src.Owner, &src.Kind, &src.ID, &sum)
			l.totals[src] = &total{sum: sum}
			return err
		}},
	} {
		if err := l.t.AskRows(ask.query, ask.values, ask.row); err != nil {
			return err
		}
	}
	if err := l.t.Flush(); err != nil {
		return err
	}
	for _, r := range expired {
		if err := l.resolve(r, givenBack); err != nil {
			return err
		}
	}
	return nil
}

// post adds an entry that was loaded unless its id is known. It refuses the amounts that Append
// refuses.
func (l *ledgerTx) post(e billing.Entry) error {
	if l.known[e.ID] {
		return nil
	}
	a := l.accounts[e.Owner]
	if e.Amount < 0 && a.Available+e.Amount < 0 {
		return billing.ErrInsufficient
	}
	if e.Amount > 0 && e.Amount > math.MaxInt64-a.Available-a.Reserved {
		return billing.ErrAmount
	}
	a.Available += e.Amount
	a.changed = true
	l.known[e.ID] = true
	crashpoint.Hit("sqlstore.ledger.balance")
	if src, ok := e.Source(); ok {
		l.totals[src].sum = billing.AddTotal(l.totals[src].sum, e.Amount)
		l.totals[src].changed = true
	}
	e.Balance = a.Available + a.Reserved
	l.entries = appendEntry(l.entries, &e, l.now)
	l.added++
	return nil
}

// openReservation is a row of reservations.
type openReservation struct {
	id, owner string
	amount    billing.Credits
}

// resolve ends an open reservation, and makes its amount available again.
func (l *ledgerTx) resolve(r openReservation, how string) error {
	a := l.accounts[r.owner]
	a.Reserved -= r.amount
	a.Available += r.amount
	a.changed = true
	crashpoint.Hit("sqlstore.ledger.resolve")
	l.resolved = append(l.resolved, r.id, nanos(l.now), how)
	l.added++
	l.ended[r.id] = how
	return l.t.Exec(`DELETE FROM reservations WHERE id = ?`, r.id)
}

// save writes what has changed.
func (l *ledgerTx) save() error {
	var accounts, totals []any
	for owner, a := range l.accounts {
		if a.changed {
			accounts = append(accounts, owner, int64(a.Available), int64(a.Reserved))
		}
	}
	for src, t := range l.totals {
		if t.changed {
			totals = append(totals, src.Owner, string(src.Kind), src.ID, int64(t.sum))
		}
	}
	for _, rows := range []struct {
		query  string
		values []any
	}{
		{`{insert} owners (owner, available, reserved) {rows text,int,int}
			ON CONFLICT (owner) DO UPDATE SET available = excluded.available, reserved = excluded.reserved`, accounts},
		{insertEntries, l.entries},
		{`{insert} source_totals (owner, kind, source_id, total) {rows text,text,text,int}
			ON CONFLICT (owner, kind, source_id) DO UPDATE SET total = excluded.total`, totals},
		{`{insert} resolved_reservations (id, recorded_at, outcome) {rows text,int,text}`, l.resolved},
	} {
		if err := l.t.ExecRows(rows.query, rows.values); err != nil {
			return err
		}
	}
	l.t.Added(l.added)
	return nil
}
