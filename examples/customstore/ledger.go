package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// ledger implements billing.Ledger.
type ledger struct{ s *Store }

// update is Store.update, but first releases the reservations that have expired. Their credits may be
// used again, so they must stay released even if the clock steps back later.
func (l ledger) update(ctx context.Context, f func(draft *state, now time.Time) error) error {
	return l.s.update(ctx, func(draft *state, now time.Time) error {
		draft.expire(now)
		return f(draft, now)
	})
}

func (s *state) expire(now time.Time) {
	for id, r := range s.Reservations.all() {
		if r.Outcome == held && !r.open(now) {
			r.Outcome = released
			s.Reservations.put(id, r)
		}
	}
}

func (r *reservation) open(now time.Time) bool {
	return r.Outcome == held && (r.ExpiresAt.IsZero() || now.Before(r.ExpiresAt))
}

func (s *state) balance(name string, now time.Time) billing.Balance {
	o, _ := s.Owners.get(name)
	b := billing.Balance{Available: o.Total}
	for _, r := range s.Reservations.all() {
		if r.Owner == name && r.open(now) {
			b.Available -= r.Amount
			b.Reserved += r.Amount
		}
	}
	return b
}

// post adds an entry unless its id is known. It returns an error if the entry is not allowed.
func (s *state) post(e billing.Entry, now time.Time) error {
	if err := e.Validate(); err != nil {
		return err
	}
	if _, known := s.Entries.get(e.ID); known {
		return nil
	}
	b := s.balance(e.Owner, now)
	switch {
	case e.Amount < 0 && b.Available+e.Amount < 0:
		return billing.ErrInsufficient
	case e.Amount > math.MaxInt64-b.Available-b.Reserved:
		return billing.ErrAmount
	}
	e.Balance = b.Available + b.Reserved + e.Amount
	s.Entries.put(e.ID, e)
	o, _ := s.Owners.get(e.Owner)
	o.Total += e.Amount
	s.Owners.put(e.Owner, o)
	if src, ok := e.Source(); ok {
		total, _ := s.Totals.get(totalKey(src))
		s.Totals.put(totalKey(src), billing.AddTotal(total, e.Amount))
	}
	return nil
}

func (l ledger) Reserve(ctx context.Context, r billing.Reservation) error {
	if err := r.Validate(); err != nil {
		return err
	}
	return l.update(ctx, func(draft *state, now time.Time) error {
		before, there := draft.Reservations.get(r.ID)
		_, entry := draft.Entries.get(r.ID)
		switch {
		case there && before.Outcome == held:
			return nil
		case there || entry:
			return billing.ErrResolved
		case draft.balance(r.Owner, now).Available < r.Amount:
			return billing.ErrInsufficient
		}
		draft.Reservations.put(r.ID, reservation{Reservation: r})
		return nil
	})
}

func (l ledger) Commit(ctx context.Context, id string, e billing.Entry) error {
	return l.update(ctx, func(draft *state, now time.Time) error {
		r, err := draft.resolve(id, committed)
		if r == nil || err != nil {
			return err
		}
		e.ID, e.Owner, e.Amount = id, r.Owner, -r.Amount
		return draft.post(e, now)
	})
}

func (l ledger) Release(ctx context.Context, id string) error {
	return l.update(ctx, func(draft *state, _ time.Time) error {
		_, err := draft.resolve(id, released)
		return err
	})
}

// resolve ends a reservation. It returns nil if the reservation was ended in the same way before.
func (s *state) resolve(id string, as outcome) (*reservation, error) {
	r, ok := s.Reservations.get(id)
	switch {
	case !ok:
		return nil, billing.ErrNotFound
	case r.Outcome == as:
		return nil, nil
	case r.Outcome != held:
		return nil, billing.ErrResolved
	}
	r.Outcome = as
	s.Reservations.put(id, r)
	return &r, nil
}

func (l ledger) Append(ctx context.Context, entries ...billing.Entry) error {
	return l.update(ctx, func(draft *state, now time.Time) error {
		for _, e := range entries {
			if err := draft.post(e, now); err != nil {
				return err
			}
		}
		return nil
	})
}

func (l ledger) Balance(ctx context.Context, owner string) (b billing.Balance, err error) {
	err = l.s.view(ctx, func(st *state, now time.Time) { b = st.balance(owner, now) })
	return b, err
}

func (l ledger) Entries(ctx context.Context, q billing.EntryQuery) (page billing.EntryPage, err error) {
	if failed := l.s.view(ctx, func(st *state, _ time.Time) {
		var all []billing.Entry
		first := 0 // index after the entry that q.Cursor names; entries are never removed
		for _, e := range st.Entries.all() {
			if e.Owner == q.Owner && (q.SourceID == "" || e.SourceID == q.SourceID) && within(e.At, q.Since, q.Until) {
				all = append(all, e)
			}
		}
		if !q.Asc {
			slices.Reverse(all)
		}
		if q.Cursor != "" {
			first = 1 + slices.IndexFunc(all, func(e billing.Entry) bool { return e.ID == q.Cursor })
			if first == 0 {
				err = billing.ErrCursor
				return
			}
			q.Page = 1
		}
		page = billing.EntryPage{Entries: slices.Clone(pageOf(all[first:], q.Page, q.PageSize)), Total: len(all)}
		if n := len(page.Entries); n > 0 && page.Entries[n-1].ID != all[len(all)-1].ID {
			page.Next = page.Entries[n-1].ID
		}
	}); failed != nil {
		err = failed
	}
	return page, err
}

func (l ledger) Totals(ctx context.Context, sources ...billing.Source) ([]billing.Credits, error) {
	totals := make([]billing.Credits, len(sources))
	err := l.s.view(ctx, func(st *state, _ time.Time) {
		for i, src := range sources {
			totals[i], _ = st.Totals.get(totalKey(src))
		}
	})
	if err != nil {
		return nil, err
	}
	return totals, nil
}

// totalKey returns a key that is different for each source, whatever its owner and id.
func totalKey(src billing.Source) string {
	return fmt.Sprintf("%s %q %q", src.Kind, src.Owner, src.ID)
}
