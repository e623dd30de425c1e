package memory

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/record"
)

// recordStore implements record.Store.
type recordStore struct{ s *Store }

// recordTable holds the records. The caller holds the store's lock.
type recordTable struct {
	byKey    map[record.Key]*recordRow
	byOwner  map[ownerKind][]*recordRow  // in order of creation
	unique   map[uniqueKey]*recordRow    // by name, and by lookup
	children map[record.Key][]*recordRow // by parent, in order of creation
	gone     map[string]time.Time        // until when an owner is refused, by record.OwnerID
	created  uint64                      // n of the newest row
	last     uint64                      // number of the newest entry
	entries  []record.Entry              // oldest first, with consecutive numbers
}

// recordRow is a stored record. The value behind rec never changes.
type recordRow struct {
	n   uint64 // counts up in order of creation
	rec *record.Record
}

type ownerKind struct {
	owner string
	kind  record.Kind
}

// uniqueKey is what only one record may have: a name among its siblings, or a lookup of its kind.
type uniqueKey struct {
	owner        string
	kind         record.Kind
	parent       record.Key
	name, lookup string
}

// uniqueKeys returns the name and the lookup of a record, if it has them.
func uniqueKeys(r *record.Record) (keys []uniqueKey) {
	if r.Name != "" {
		keys = append(keys, uniqueKey{owner: r.Owner, kind: r.Kind, parent: r.Parent, name: r.Name})
	}
	if r.Lookup != "" {
		keys = append(keys, uniqueKey{kind: r.Kind, lookup: r.Lookup})
	}
	return keys
}

func newRecordTable() recordTable {
	return recordTable{
		byKey:    make(map[record.Key]*recordRow),
		byOwner:  make(map[ownerKind][]*recordRow),
		unique:   make(map[uniqueKey]*recordRow),
		children: make(map[record.Key][]*recordRow),
		gone:     make(map[string]time.Time),
	}
}

func (rs recordStore) Get(ctx context.Context, owner string, k record.Key) (record.Record, error) {
	if err := rs.s.lock(ctx); err != nil {
		return record.Record{}, err
	}
	defer rs.s.mu.Unlock()
	if r := rs.s.records.byKey[k]; r != nil && r.rec.Owner == owner {
		return r.clone(), nil
	}
	return record.Record{}, record.ErrNotFound
}

func (rs recordStore) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	if err := rs.s.lock(ctx); err != nil {
		return record.Record{}, err
	}
	defer rs.s.mu.Unlock()
	if r := rs.s.records.unique[uniqueKey{kind: k, lookup: lookup}]; r != nil {
		return r.clone(), nil
	}
	return record.Record{}, record.ErrNotFound
}

func (rs recordStore) List(ctx context.Context, q record.Query) ([]record.Record, int, error) {
	if err := rs.s.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer rs.s.mu.Unlock()
	rows := rs.s.records.byOwner[ownerKind{q.Owner, q.Kind}]
	if !q.Parent.IsZero() {
		rows = rs.s.records.children[q.Parent]
	}
	if q.Name != "" {
		rows = nil
		if r := rs.s.records.unique[uniqueKey{owner: q.Owner, kind: q.Kind, parent: q.Parent, name: q.Name}]; r != nil {
			rows = []*recordRow{r}
		}
	}
	list := make([]record.Record, 0, max(0, min(q.Limit, len(rows)-q.Offset)))
	total, size := 0, 0
	for _, r := range rows {
		if r.rec.Owner != q.Owner || r.rec.Kind != q.Kind || q.Status != "" && r.rec.Status != q.Status {
			continue
		}
		if total++; total > q.Offset && len(list) < q.Limit {
			list = append(list, *r.rec)
			size += len(r.rec.Data)
		}
	}
	data := make([]byte, 0, size) // of all: a page costs two allocations
	for i := range list {
		n := len(data)
		data = append(data, list[i].Data...)
		list[i].Data = data[n:len(data):len(data)]
	}
	return list, total, nil
}

// Scan calls fn for each record that exists when Scan begins.
func (rs recordStore) Scan(ctx context.Context, k record.Kind, fn func(record.Record) error) error {
	if err := rs.s.lock(ctx); err != nil {
		return err
	}
	var rows []recordRow
	for of, list := range rs.s.records.byOwner {
		if of.kind == k {
			for _, r := range list {
				rows = append(rows, *r)
			}
		}
	}
	rs.s.mu.Unlock()

	slices.SortFunc(rows, func(a, b recordRow) int { return cmp.Compare(a.n, b.n) })
	for i := range rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(rows[i].clone()); err != nil {
			return err
		}
	}
	return nil
}

func (rs recordStore) Since(ctx context.Context, after uint64, limit int) ([]record.Entry, uint64, error) {
	if err := rs.s.lock(ctx); err != nil {
		return nil, 0, err
	}
	defer rs.s.mu.Unlock()
	t := &rs.s.records
	if after > t.last || t.last-after > uint64(len(t.entries)) {
		return nil, t.last, record.ErrTooOld
	}
	later := t.entries[len(t.entries)-int(t.last-after):]
	return slices.Clone(later[:min(max(limit, 0), len(later))]), t.last, nil
}

func (rs recordStore) Apply(ctx context.Context, c record.Change) (uint64, error) {
	s := rs.s
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	now := s.opts.Now()
	e, err := s.records.check(&c, now)
	if err != nil {
		return 0, err
	}
	for _, r := range e.deleted {
		s.records.remove(r)
		s.endWith(r.rec, now)
	}
	for _, p := range e.put {
		s.records.store(p.row, p.rec)
	}
	for _, n := range c.Notes {
		if r, err := s.records.find(n.Ref); err == nil {
			noted := *r.rec
			noted.Note = n.Text
			r.rec = &noted
		}
	}
	before := s.records.last
	for _, r := range e.deleted {
		s.records.enter(r.rec.Key, r.rec.Owner)
	}
	for _, p := range e.put {
		s.records.enter(p.rec.Key, p.rec.Owner)
	}
	if g := c.Gone; g != nil {
		s.records.refuse(g, now)
	}
	s.events.retain(now)
	if s.records.last == before {
		return 0, nil
	}
	return s.records.last, nil
}

// endWith ends what ends with a record: the total of a monitor or rule, the replay and the open
// deliveries of an endpoint.
func (s *Store) endWith(r *record.Record, now time.Time) {
	switch r.Kind {
	case record.Monitor:
		delete(s.balances.totals, billing.Source{Owner: r.Owner, Kind: billing.KindMonitor, ID: r.ID})
	case record.Rule:
		delete(s.balances.totals, billing.Source{Owner: r.Owner, Kind: billing.KindRule, ID: r.ID})
	case record.Endpoint:
		delete(s.replays, r.ID)
		if l := s.events.open.lanes[r.ID]; l != nil {
			for _, d := range slices.Clone(l.due) {
				d.orphaned = true
				s.events.finish(d, deliver.StateFailed, now)
			}
		}
	}
}

// receivers calls each for every active endpoint of a source, in order of creation.
func (t *recordTable) receivers(src *deliver.Source, each func(endpointID string)) {
	for _, r := range t.children[record.Key{Kind: record.Kind(src.Kind), ID: src.ID}] {
		if r.rec.Kind == record.Endpoint && r.rec.Owner == src.Owner && r.rec.Status == string(deliver.EndpointActive) {
			each(r.rec.ID)
		}
	}
}

func (r *recordRow) clone() record.Record {
	c := *r.rec
	c.Data = slices.Clone(c.Data)
	return c
}

// remove removes a record.
func (t *recordTable) remove(r *recordRow) {
	delete(t.byKey, r.rec.Key)
	t.unname(r)
	removeRow(t.byOwner, ownerKind{r.rec.Owner, r.rec.Kind}, r)
	if !r.rec.Parent.IsZero() {
		removeRow(t.children, r.rec.Parent, r)
	}
}

// removeRow removes a row from those of a key, which are in order of creation.
func removeRow[K comparable](lists map[K][]*recordRow, k K, r *recordRow) {
	rows := lists[k]
	if len(rows) == 1 {
		delete(lists, k)
		return
	}
	i, _ := slices.BinarySearchFunc(rows, r.n, func(r *recordRow, n uint64) int { return cmp.Compare(r.n, n) })
	lists[k] = slices.Delete(rows, i, i+1)
}

// store puts a record into its row, or creates one for nil.
func (t *recordTable) store(r *recordRow, rec *record.Record) {
	if r == nil {
		t.created++
		r = &recordRow{n: t.created, rec: rec}
		t.byKey[rec.Key] = r
		of := ownerKind{rec.Owner, rec.Kind}
		t.byOwner[of] = append(t.byOwner[of], r)
		if !rec.Parent.IsZero() {
			t.children[rec.Parent] = append(t.children[rec.Parent], r)
		}
	} else {
		t.unname(r)
		r.rec = rec
	}
	for _, k := range uniqueKeys(rec) {
		t.unique[k] = r
	}
}

// unname frees the name and the lookup of a row, unless another row of the change has them already.
func (t *recordTable) unname(r *recordRow) {
	for _, k := range uniqueKeys(r.rec) {
		if t.unique[k] == r {
			delete(t.unique, k)
		}
	}
}

// enter adds an entry to the feed.
func (t *recordTable) enter(k record.Key, owner string) {
	if len(t.entries) == 2*entriesKept {
		t.entries = append(make([]record.Entry, 0, 2*entriesKept), t.entries[entriesKept:]...)
	}
	t.last++
	t.entries = append(t.entries, record.Entry{N: t.last, Key: k, Owner: owner})
}

// entriesKept is the minimum number of entries that the feed keeps.
const entriesKept = 10_000

// refuse refuses an owner until g.Until, and forgets those whose time has passed.
func (t *recordTable) refuse(g *record.Gone, now time.Time) {
	maps.DeleteFunc(t.gone, func(_ string, until time.Time) bool { return !now.Before(until) })
	id := record.OwnerID(g.Owner)
	if g.Until.IsZero() {
		delete(t.gone, id)
	} else {
		t.gone[id] = g.Until
	}
	t.enter(record.Key{Kind: record.Owner, ID: id}, "")
}

// refused reports whether an owner is refused.
func (t *recordTable) refused(owner string, now time.Time) bool {
	return len(t.gone) > 0 && now.Before(t.gone[record.OwnerID(owner)])
}

// erase removes an owner's records, and the owner's name from the feed. It returns the number of
// records by kind, and of entries.
func (t *recordTable) erase(owner string) (n map[record.Kind]int, entries int) {
	n = make(map[record.Kind]int)
	for of, rows := range t.byOwner {
		if of.owner == owner {
			n[of.kind] = len(rows)
			for _, r := range slices.Backward(slices.Clone(rows)) {
				t.remove(r)
			}
		}
	}
	for i := range t.entries {
		if e := &t.entries[i]; e.Owner == owner && owner != "" {
			e.Owner = ""
			entries++
		}
	}
	return n, entries
}
