package memory

import (
	"container/heap"
	"context"
	"math"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// ledger implements billing.Ledger. An account's available and reserved are
// never below zero, and never exceed an int64 together.
type ledger struct{ s *Store }

// hold is an open reservation.
type hold struct {
	billing.Reservation
	index int // in Store.expiring, -1 when it does not expire
}

func (h *hold) before(o *hold) bool { return h.ExpiresAt.Before(o.ExpiresAt) }
func (h *hold) place() *int         { return &h.index }

// outcome is how a reservation was resolved.
type outcome uint8

const (
	committed outcome = iota + 1
	givenBack         // released or expired
)

func (l ledger) Reserve(ctx context.Context, r billing.Reservation) error {
	s := l.s
	if err := s.lockLedger(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if err := r.Validate(); err != nil {
		return err
	}
	k := keyOf(r.ID)
	switch {
	case s.holds[r.ID] != nil:
		return nil
	case s.resolved.has(k) || s.entryIDs.has(k):
		return billing.ErrResolved
	case s.peek(r.Owner).available < r.Amount:
		return billing.ErrInsufficient
	}
	a := s.account(r.Owner)
	a.available -= r.Amount
	a.reserved += r.Amount
	h := &hold{Reservation: r, index: -1}
	s.holds[r.ID] = h
	if !r.ExpiresAt.IsZero() {
		heap.Push(&s.expiring, h)
	}
	return nil
}

func (l ledger) Commit(ctx context.Context, id string, e billing.Entry) error {
	s := l.s
	if err := s.lockLedger(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	h := s.holds[id]
	if h == nil {
		return s.resolvedAs(id, committed)
	}
	// The amount is made available and charged at once, under one lock.
	s.resolve(h, committed)
	e.ID, e.Owner, e.Amount = id, h.Owner, -h.Amount
	return s.post(e)
}

func (l ledger) Release(ctx context.Context, id string) error {
	s := l.s
	if err := s.lockLedger(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	h := s.holds[id]
	if h == nil {
		return s.resolvedAs(id, givenBack)
	}
	s.resolve(h, givenBack)
	return nil
}

func (l ledger) Append(ctx context.Context, entries ...billing.Entry) error {
	s := l.s
	if err := s.lockLedger(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	// Tried on a copy of the balances first: one refusal, and none is made.
	trial := make(map[string]*account)
	ids := make(map[string]bool)
	for i := range entries {
		e := &entries[i]
		if err := e.Validate(); err != nil {
			return err
		}
		if ids[e.ID] || s.entryIDs.has(keyOf(e.ID)) {
			continue
		}
		ids[e.ID] = true
		a := trial[e.Owner]
		if a == nil {
			now := s.peek(e.Owner)
			a = &account{available: now.available, reserved: now.reserved}
			trial[e.Owner] = a
		}
		if err := a.add(e.Amount); err != nil {
			return err
		}
	}
	for _, e := range entries {
		if err := s.post(e); err != nil {
			return err
		}
	}
	return nil
}

func (l ledger) Balance(ctx context.Context, owner string) (billing.Balance, error) {
	s := l.s
	if err := s.lockLedger(ctx); err != nil {
		return billing.Balance{}, err
	}
	defer s.mu.Unlock()
	a := s.peek(owner)
	return billing.Balance{Available: a.available, Reserved: a.reserved}, nil
}

func (l ledger) Entries(ctx context.Context, q billing.EntryQuery) (billing.EntryPage, error) {
	s := l.s
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
	a := s.peek(q.Owner)
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
	s := l.s
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	totals := make([]billing.Credits, len(sources))
	for i, src := range sources {
		totals[i] = s.totals[src]
	}
	return totals, nil
}

// lockLedger is lock, with the reservations that have expired given back.
func (s *Store) lockLedger(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.expire(s.opts.Now())
	return nil
}

func (s *Store) expire(now time.Time) {
	for len(s.expiring) > 0 && !s.expiring[0].ExpiresAt.After(now) {
		s.resolve(s.expiring[0], givenBack)
	}
}

// resolve ends an open reservation and makes its amount available.
func (s *Store) resolve(h *hold, as outcome) {
	a := s.account(h.Owner)
	a.reserved -= h.Amount
	a.available += h.Amount
	delete(s.holds, h.ID)
	if h.index >= 0 {
		heap.Remove(&s.expiring, h.index)
	}
	s.resolved.put(keyOf(h.ID), as)
}

// resolvedAs answers a repeated resolution: nil when it was the same.
func (s *Store) resolvedAs(id string, as outcome) error {
	switch s.resolved.values[keyOf(id)] {
	case as:
		return nil
	case 0:
		return billing.ErrNotFound
	}
	return billing.ErrResolved
}

// post makes one entry, unless its id is known or its amount is refused, and
// removes the oldest entries beyond the maximum.
func (s *Store) post(e billing.Entry) error {
	k := keyOf(e.ID)
	if s.entryIDs.has(k) {
		return nil
	}
	a := s.account(e.Owner)
	if err := a.add(e.Amount); err != nil {
		return err
	}
	e.Balance = a.available + a.reserved
	if src, ok := e.Source(); ok {
		s.totals[src] = billing.AddTotal(s.totals[src], e.Amount)
	}
	s.entryIDs.put(k, struct{}{})
	s.entries = append(s.entries, &e)
	a.entries = append(a.entries, &e)
	for len(s.entries) > s.opts.MaxEntries {
		// The oldest of all is also the oldest of its owner.
		oldest := popFront(&s.entries)
		of := s.account(oldest.Owner)
		popFront(&of.entries)
		of.removed++
	}
	return nil
}

// add changes what is available, or says why not.
func (a *account) add(amount billing.Credits) error {
	if amount < 0 && a.available+amount < 0 {
		return billing.ErrInsufficient
	}
	if amount > 0 && amount > math.MaxInt64-a.available-a.reserved {
		return billing.ErrAmount
	}
	a.available += amount
	return nil
}
