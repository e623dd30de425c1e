package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/fleet"
)

// table has records by id. Each record has a second key, which is unique per owner. Its callers
// must have locked the store.
type table[T any] struct {
	keys   func(*T) (owner, id, unique string)
	byID   map[string]*row[T]
	taken  map[[2]string]bool   // owner and unique key
	owners map[string][]*row[T] // in order of creation
	last   uint64               // n of the newest row
}

// row is a record in a table. The value that rec points to never changes, because an update
// replaces the pointer. Therefore a copy of the row can be read without the lock.
type row[T any] struct {
	n   uint64 // counts up in order of creation
	rec *T
}

func newTable[T any](keys func(*T) (owner, id, unique string)) *table[T] {
	return &table[T]{
		keys:   keys,
		byID:   make(map[string]*row[T]),
		taken:  make(map[[2]string]bool),
		owners: make(map[string][]*row[T]),
	}
}

// create adds a record. It returns nil if the id or the unique key is taken.
func (t *table[T]) create(rec *T) *row[T] {
	owner, id, unique := t.keys(rec)
	if t.byID[id] != nil || t.taken[[2]string{owner, unique}] {
		return nil
	}
	t.last++
	r := &row[T]{t.last, rec}
	t.byID[id] = r
	t.taken[[2]string{owner, unique}] = true
	t.owners[owner] = append(t.owners[owner], r)
	return r
}

// get returns the row, or nil if the id is unknown or belongs to another owner.
func (t *table[T]) get(owner, id string) *row[T] {
	r := t.byID[id]
	if r == nil {
		return nil
	}
	if o, _, _ := t.keys(r.rec); o != owner {
		return nil
	}
	return r
}

// replace replaces r's record with rec, which must have the same owner and id. If another record
// has rec's unique key, it returns false and changes nothing.
func (t *table[T]) replace(r *row[T], rec *T) bool {
	owner, _, before := t.keys(r.rec)
	_, _, after := t.keys(rec)
	if before != after {
		if t.taken[[2]string{owner, after}] {
			return false
		}
		delete(t.taken, [2]string{owner, before})
		t.taken[[2]string{owner, after}] = true
	}
	r.rec = rec
	return true
}

func (t *table[T]) remove(r *row[T]) {
	owner, id, unique := t.keys(r.rec)
	delete(t.byID, id)
	delete(t.taken, [2]string{owner, unique})
	rows := t.owners[owner]
	i, _ := slices.BinarySearchFunc(rows, r.n, func(r *row[T], n uint64) int { return cmp.Compare(r.n, n) })
	if rows = slices.Delete(rows, i, i+1); len(rows) == 0 {
		delete(t.owners, owner)
	} else {
		t.owners[owner] = rows
	}
}

// records implements the methods that monitor.Store and rule.Store share, which are all but List. A
// record has a version, and an update compares it.
type records[T any] struct {
	s          *Store
	t          *table[T]
	clone      func(T) T
	version    func(*T) *int64
	ledgerKind billing.Kind // kind of the records' ledger entries
	feedKind   fleet.Kind   // kind of the records' changes in the feed

	notFound, duplicate, conflict error
}

func (rs records[T]) Create(ctx context.Context, rec T) error {
	if err := rs.s.lock(ctx); err != nil {
		return err
	}
	defer rs.s.mu.Unlock()
	rec = rs.clone(rec)
	if rs.t.create(&rec) == nil {
		return rs.duplicate
	}
	owner, id, _ := rs.t.keys(&rec)
	rs.s.feed.add(rs.feedKind, owner, id)
	return nil
}

func (rs records[T]) Get(ctx context.Context, owner, id string) (T, error) {
	var none T
	if err := rs.s.lock(ctx); err != nil {
		return none, err
	}
	defer rs.s.mu.Unlock()
	r := rs.t.get(owner, id)
	if r == nil {
		return none, rs.notFound
	}
	return rs.clone(*r.rec), nil
}

func (rs records[T]) Update(ctx context.Context, rec T) error {
	if err := rs.s.lock(ctx); err != nil {
		return err
	}
	defer rs.s.mu.Unlock()
	rec = rs.clone(rec)
	owner, id, _ := rs.t.keys(&rec)
	r := rs.t.get(owner, id)
	if r == nil {
		return rs.notFound
	}
	if *rs.version(r.rec) != *rs.version(&rec) {
		return rs.conflict
	}
	*rs.version(&rec)++
	if !rs.t.replace(r, &rec) {
		return rs.duplicate
	}
	rs.s.feed.add(rs.feedKind, owner, id)
	return nil
}

func (rs records[T]) Delete(ctx context.Context, owner, id string) error {
	if err := rs.s.lock(ctx); err != nil {
		return err
	}
	defer rs.s.mu.Unlock()
	r := rs.t.get(owner, id)
	if r == nil {
		return rs.notFound
	}
	rs.t.remove(r)
	delete(rs.s.balances.totals, billing.Source{Owner: owner, Kind: rs.ledgerKind, ID: id})
	rs.s.feed.add(rs.feedKind, owner, id)
	return nil
}

// Scan calls fn for each record that exists when Scan begins, oldest first. It stops when the
// context ends.
func (rs records[T]) Scan(ctx context.Context, fn func(T) error) error {
	if err := rs.s.lock(ctx); err != nil {
		return err
	}
	rows := make([]row[T], 0, len(rs.t.byID))
	for _, r := range rs.t.byID {
		rows = append(rows, *r)
	}
	rs.s.mu.Unlock()

	slices.SortFunc(rows, func(a, b row[T]) int { return cmp.Compare(a.n, b.n) })
	for _, r := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(rs.clone(*r.rec)); err != nil {
			return err
		}
	}
	return nil
}

// list returns a page of the owner's matching records, and the number of matching records.
func (rs records[T]) list(ctx context.Context, owner string, match func(*T) bool, page, size int) ([]T, int, error) {
	if err := rs.s.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer rs.s.mu.Unlock()
	var matching []*T
	for _, r := range rs.t.owners[owner] {
		if match(r.rec) {
			matching = append(matching, r.rec)
		}
	}
	from, to := pageBounds(len(matching), page, size)
	recs := make([]T, 0, to-from)
	for _, rec := range matching[from:to] {
		recs = append(recs, rs.clone(*rec))
	}
	return recs, len(matching), nil
}
