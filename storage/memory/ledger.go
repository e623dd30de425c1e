package memory

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/billing"
)

// ledger implements billing.Ledger. An account's available and reserved credits are never
// negative, and their sum fits an int64.
type ledger struct{ s *Store }

func (l ledger) Reserve(ctx context.Context, r billing.Reservation) error {
	s, b := l.s, &l.s.balances
	if err := s.lockLedger(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := r.Validate(); err != nil {
		return err
	}
	if _, ok := b.holds[r.ID]; ok {
		return nil
	}
	k := keyOf(r.ID)
	switch {
	case b.resolved.has(k) || b.ids.has(k):
		return billing.ErrResolved
	case b.peek(r.Owner).available < r.Amount:
		return billing.ErrInsufficient
	}
	b.reserve(r)
	return nil
}

func (l ledger) Commit(ctx context.Context, id string, e billing.Entry) error {
	s, b := l.s, &l.s.balances
	if err := s.lockLedger(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	h, ok := b.holds[id]
	if !ok {
		return b.resolvedAs(id, committed)
	}
	// The store is locked: no caller sees the amount available before it is charged.
	b.resolve(h, committed)
	e.ID, e.Owner, e.Amount = id, h.Owner, -h.Amount
	return b.post(e)
}

func (l ledger) Release(ctx context.Context, id string) error {
	s, b := l.s, &l.s.balances
	if err := s.lockLedger(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	h, ok := b.holds[id]
	if !ok {
		return b.resolvedAs(id, givenBack)
	}
	b.resolve(h, givenBack)
	return nil
}

func (l ledger) Append(ctx context.Context, entries ...billing.Entry) error {
	s, b := l.s, &l.s.balances
	if err := s.lockLedger(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	// Try the entries on copies of the accounts first. If one entry is refused, none is added.
	trial := make(map[string]*account)
	ids := make(map[string]bool)
	for i := range entries {
		e := &entries[i]
		if err := e.Validate(); err != nil {
			return err
		}
		if ids[e.ID] || b.ids.has(keyOf(e.ID)) {
			continue
		}
		ids[e.ID] = true
		a := trial[e.Owner]
		if a == nil {
			now := b.peek(e.Owner)
			a = &account{available: now.available, reserved: now.reserved}
			trial[e.Owner] = a
		}
		if err := a.add(e.Amount); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := b.post(e); err != nil {
			return err
		}
	}
	return nil
}

func (l ledger) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	s, b := l.s, &l.s.balances
	if err := s.lockLedger(ctx); err != nil {
		return billing.Balance{}, err
	}
	defer s.mu.Unlock()
	a := b.peek(owner)
	return billing.Balance{Available: a.available, Reserved: a.reserved}, nil
}

func (l ledger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	s, b := l.s, &l.s.balances
	if err := s.lockLedger(ctx); err != nil {
		return billing.EntryPage{}, err
	}
	defer s.mu.Unlock()
	var page billing.EntryPage
	type found struct {
		*billing.Entry
		place
	}
	var matching []found // oldest first
	a := b.peek(q.Owner)
	for i, e := range a.entries {
		if (q.SourceID == "" || e.SourceID == q.SourceID) && within(e.At, q.Since, q.Until) {
			matching = append(matching, found{e, place{n: a.removed + uint64(i)}})
		}
	}
	if !q.Asc {
		slices.Reverse(matching)
	}
	from, to, next, ok := cut(len(matching), func(i int) place { return matching[i].place }, q.Cursor, q.Asc, q.Page, q.PageSize)
	if !ok {
		return billing.EntryPage{}, billing.ErrCursor
	}
	page.Total, page.Entries, page.Next = len(matching), make([]billing.Entry, 0, to-from), next
	for _, e := range matching[from:to] {
		page.Entries = append(page.Entries, *e.Entry)
	}
	return page, nil
}

func (l ledger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	s, b := l.s, &l.s.balances
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	totals := make([]billing.Credits, len(sources))
	for i, src := range sources {
		totals[i] = b.totals[src]
	}
	return totals, nil
}

// lockLedger is lock, followed by the release of expired reservations.
func (s *Store) lockLedger(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.balances.expire(s.opts.Now())
	return nil
}
