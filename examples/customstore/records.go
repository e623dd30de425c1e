package main

import (
	"context"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// records is the common part of monitors, rules and endpoints: an owner, a text that is unique for
// the owner, and a version that an update must have.
type records[T any] struct {
	s       *Store
	in      func(*state) *table[T]
	keys    func(*T) keys
	version func(*T) *int64
	clone   func(T) T
	kind    billing.Kind // of their ledger entries; "" for endpoints, which have none

	notFound, duplicate, conflict error
}

type keys struct {
	owner, id string
	unique    [2]string // per owner
}

// taken reports whether a record other than k.id has the unique text of k.
func (r records[T]) taken(st *state, k keys) bool {
	for id, rec := range r.in(st).all() {
		if other := r.keys(&rec); id != k.id && other.owner == k.owner && other.unique == k.unique {
			return true
		}
	}
	return false
}

// find gives an owner's own record.
func (r records[T]) find(st *state, owner, id string) (T, error) {
	if rec, ok := r.in(st).get(id); ok && r.keys(&rec).owner == owner {
		return rec, nil
	}
	var none T
	return none, r.notFound
}

func (r records[T]) Create(ctx context.Context, rec T) error {
	return r.s.update(ctx, func(draft *state, _ time.Time) error {
		k := r.keys(&rec)
		if _, ok := r.in(draft).get(k.id); ok || r.taken(draft, k) {
			return r.duplicate
		}
		r.in(draft).put(k.id, rec)
		return nil
	})
}

func (r records[T]) Get(ctx context.Context, owner, id string) (rec T, err error) {
	seen := r.s.view(ctx, func(st *state, _ time.Time) {
		if rec, err = r.find(st, owner, id); err == nil {
			rec = r.clone(rec)
		}
	})
	if seen != nil {
		err = seen
	}
	return rec, err
}

func (r records[T]) Update(ctx context.Context, rec T) error {
	return r.update(ctx, rec, func(*T, T) {})
}

// update replaces a record. keep copies the fields that must not change from the old record.
func (r records[T]) update(ctx context.Context, rec T, keep func(rec *T, old T)) error {
	return r.s.update(ctx, func(draft *state, _ time.Time) error {
		k := r.keys(&rec)
		old, err := r.find(draft, k.owner, k.id)
		if err != nil {
			return err
		}
		if *r.version(&old) != *r.version(&rec) {
			return r.conflict
		}
		keep(&rec, old)
		if r.taken(draft, r.keys(&rec)) {
			return r.duplicate
		}
		*r.version(&rec)++
		r.in(draft).put(k.id, rec)
		return nil
	})
}

func (r records[T]) Delete(ctx context.Context, owner, id string) error {
	return r.remove(ctx, owner, id, func(draft *state, _ time.Time) {
		draft.Totals.remove(totalKey(billing.Source{Owner: owner, Kind: r.kind, ID: id}))
	})
}

// remove deletes a record, and does what goes with it.
func (r records[T]) remove(ctx context.Context, owner, id string, also func(draft *state, now time.Time)) error {
	return r.s.update(ctx, func(draft *state, now time.Time) error {
		if _, err := r.find(draft, owner, id); err != nil {
			return err
		}
		r.in(draft).remove(id)
		also(draft, now)
		return nil
	})
}

// Scan shows what was there when it began.
func (r records[T]) Scan(ctx context.Context, fn func(T) error) error {
	recs, err := r.list(ctx, func(*T) bool { return true })
	if err != nil {
		return err
	}
	for _, rec := range recs {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(rec); err != nil {
			return err
		}
	}
	return nil
}

// list returns copies of the records that match, in order of creation.
func (r records[T]) list(ctx context.Context, match func(*T) bool) (recs []T, err error) {
	err = r.s.view(ctx, func(st *state, _ time.Time) {
		for _, rec := range r.in(st).all() {
			if match(&rec) {
				recs = append(recs, r.clone(rec))
			}
		}
	})
	return recs, err
}

// pageOf returns one page of a list. Pages are numbered from 1; a size of 0 means 20.
func pageOf[T any](list []T, page, size int) []T {
	page = max(page, 1)
	if size <= 0 {
		size = 20
	}
	if page-1 > len(list)/size { // beyond the last; the product may not fit
		return nil
	}
	list = list[min((page-1)*size, len(list)):]
	return list[:min(size, len(list))]
}

type monitors struct{ records[monitor.Monitor] }

func (s *Store) monitorRecords() records[monitor.Monitor] {
	return records[monitor.Monitor]{
		s: s, in: func(st *state) *table[monitor.Monitor] { return &st.Monitors },
		keys:    func(m *monitor.Monitor) keys { return keys{m.Owner, m.ID, [2]string{m.Name}} },
		version: func(m *monitor.Monitor) *int64 { return &m.Version },
		clone: func(m monitor.Monitor) monitor.Monitor {
			m.Accounts, m.FilterTypes = slices.Clone(m.Accounts), slices.Clone(m.FilterTypes)
			return m
		},
		kind:     billing.KindMonitor,
		notFound: monitor.ErrNotFound, duplicate: monitor.ErrDuplicate, conflict: monitor.ErrConflict,
	}
}

func (ms monitors) List(ctx context.Context, q monitor.Query) (monitor.Page, error) {
	all, err := ms.list(ctx, func(m *monitor.Monitor) bool {
		return m.Owner == q.Owner && (q.Status == "" || m.Status == q.Status)
	})
	if err != nil {
		return monitor.Page{}, err
	}
	return monitor.Page{Monitors: pageOf(all, q.Page, q.PageSize), Total: len(all), Page: q.Page, PageSize: q.PageSize}, nil
}

type rules struct{ records[rule.Rule] }

func (s *Store) ruleRecords() records[rule.Rule] {
	return records[rule.Rule]{
		s: s, in: func(st *state) *table[rule.Rule] { return &st.Rules },
		keys:     func(r *rule.Rule) keys { return keys{r.Owner, r.ID, [2]string{r.Tag}} },
		version:  func(r *rule.Rule) *int64 { return &r.Version },
		clone:    func(r rule.Rule) rule.Rule { return r },
		kind:     billing.KindRule,
		notFound: rule.ErrNotFound, duplicate: rule.ErrDuplicate, conflict: rule.ErrConflict,
	}
}

func (rs rules) List(ctx context.Context, q rule.Query) (rule.Page, error) {
	all, err := rs.list(ctx, func(r *rule.Rule) bool {
		return r.Owner == q.Owner && (q.Status == "" || r.Status == q.Status)
	})
	if err != nil {
		return rule.Page{}, err
	}
	return rule.Page{Rules: pageOf(all, q.Page, q.PageSize), Total: len(all), Page: q.Page, PageSize: q.PageSize}, nil
}
