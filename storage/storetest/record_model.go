package storetest

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// recordModel is what a store of records does, as a map.
type recordModel struct {
	recs    map[record.Key]modelRecord
	gone    map[string]bool
	created int
	last    uint64 // number in the feed
}

type modelRecord struct {
	record.Record
	n int // counts up in order of creation
}

// apply makes a change, and returns its entries for the feed. If the change cannot be made, it
// returns the errors of which Apply has to return one, errAny for a *LimitError.
func (m *recordModel) apply(c record.Change) (entries []record.Entry, refused []error) {
	for _, r := range c.Put {
		if m.gone[r.Owner] {
			return nil, []error{record.ErrGone}
		}
	}
	recs, created := maps.Clone(m.recs), m.created
	check := func(recs map[record.Key]modelRecord, ref record.Ref) bool {
		r, ok := recs[ref.Key]
		switch {
		case !ok || r.Owner != ref.Owner:
			refused = append(refused, record.ErrNotFound)
		case ref.Version != 0 && ref.Version != r.Version:
			refused = append(refused, record.ErrConflict)
		default:
			return true
		}
		return false
	}
	enter := func(owner string, k record.Key) { entries = append(entries, record.Entry{Key: k, Owner: owner}) }
	for _, ref := range c.Delete {
		if !check(m.recs, ref) {
			continue
		}
		maps.DeleteFunc(recs, func(k record.Key, r modelRecord) bool {
			goes := k == ref.Key || r.Parent == ref.Key && r.Owner == ref.Owner
			if goes {
				enter(r.Owner, k)
			}
			return goes
		})
	}
	taken := false
	for _, r := range c.Put {
		before, exists := recs[r.Key]
		after := modelRecord{r, before.n}
		if r.Version == 0 {
			if exists {
				taken = true
				continue
			}
			created++
			after.n, after.Note = created, ""
		} else if check(recs, r.Ref()) {
			after.Parent, after.CreatedAt, after.Note = before.Parent, before.CreatedAt, before.Note
		}
		after.Version++
		recs[r.Key] = after
		enter(r.Owner, r.Key)
	}
	for _, ref := range c.Need {
		check(recs, ref)
	}
	if len(refused) > 0 {
		return nil, refused
	}
	for _, put := range c.Put {
		r := recs[put.Key]
		for k, o := range recs {
			if k != r.Key && k.Kind == r.Kind && (r.Name != "" && o.Name == r.Name && o.Owner == r.Owner && o.Parent == r.Parent || r.Lookup != "" && o.Lookup == r.Lookup) {
				taken = true
			}
		}
	}
	if taken {
		return nil, []error{record.ErrDuplicate}
	}
	for _, l := range c.Limits {
		if sumOf(recs, l) > l.Max {
			return nil, []error{errAny}
		}
	}
	for _, note := range c.Notes {
		if r, ok := recs[note.Key]; ok && r.Owner == note.Owner && (note.Version == 0 || note.Version == r.Version) {
			r.Note = note.Text
			recs[note.Key] = r
		}
	}
	if c.Gone != nil {
		m.gone[c.Gone.Owner] = !c.Gone.Until.IsZero()
		enter("", record.Key{Kind: record.Owner, ID: record.OwnerID(c.Gone.Owner)})
	}
	m.recs, m.created, m.last = recs, created, m.last+uint64(len(entries))
	return entries, nil
}

func sumOf(recs map[record.Key]modelRecord, l record.Limit) (sum int64) {
	for _, r := range recs {
		if r.Owner == l.Owner && slices.Contains(l.Kinds, r.Kind) && (l.Parent.IsZero() || l.Parent == r.Parent) && (l.Status == "" || l.Status == r.Status) {
			sum += []int64{1, r.Size, r.Price}[l.Of]
		}
	}
	return sum
}

// list returns what List has to give.
func (m *recordModel) list(q record.Query) (list []record.Record, total int) {
	var all []modelRecord
	for _, r := range m.recs {
		if r.Owner == q.Owner && r.Kind == q.Kind && (q.Parent.IsZero() || q.Parent == r.Parent) && (q.Status == "" || q.Status == r.Status) &&
			(q.Name == "" || q.Name == r.Name && q.Parent == r.Parent) {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b modelRecord) int { return a.n - b.n })
	for _, r := range all[min(q.Offset, len(all)):min(q.Offset+q.Limit, len(all))] {
		list = append(list, r.Record)
	}
	return list, len(all)
}

// recordMix makes random changes. Ids, names and lookups are few, so that they meet.
type recordMix struct {
	*rand.Rand
	*recordModel
	start time.Time
}

func oneOfThese[T any](rnd *rand.Rand, list ...T) T { return list[rnd.IntN(len(list))] }

var mixOwners = []string{"", "acme", "globex"}

func (x *recordMix) key() record.Key {
	return record.Key{Kind: oneOfThese(x.Rand, recordKinds...), ID: fmt.Sprint(x.IntN(6))}
}

func (x *recordMix) parent() record.Key {
	return record.Key{Kind: oneOfThese(x.Rand, record.Monitor, record.Rule), ID: fmt.Sprint(x.IntN(6))}
}

// ref returns a reference that is mostly to what is stored.
func (x *recordMix) ref(k record.Key) record.Ref {
	r := x.recs[k]
	ref := r.Ref()
	ref.Key = k
	switch x.IntN(12) {
	case 0, 1, 2:
		ref.Version = 0
	case 3:
		ref.Version++
	case 4:
		ref.Owner = oneOfThese(x.Rand, mixOwners...)
	}
	return ref
}

func (x *recordMix) record(k record.Key) record.Record {
	r := record.Record{
		Key: k, Owner: oneOfThese(x.Rand, mixOwners...), Name: oneOfThese(x.Rand, "", "", "a", "b", "c", "d", "e", "f"), Status: oneOfThese(x.Rand, "", "active", "paused"),
		Size: x.Int64N(5), Price: x.Int64N(1000), Data: fmt.Append(nil, x.Int()), CreatedAt: x.start.Add(time.Duration(x.IntN(1e6)) * time.Millisecond), UpdatedAt: x.start,
	}
	if x.IntN(4) == 0 {
		r.Lookup = oneOfThese(x.Rand, "l1", "l2", "l3", "l4")
	}
	if k.Kind == record.Endpoint {
		r.Parent = x.parent()
	}
	if _, exists := x.recs[k]; exists && x.IntN(8) > 0 {
		ref := x.ref(k)
		r.Owner, r.Version = ref.Owner, ref.Version
	}
	return r
}

func (x *recordMix) limit() record.Limit {
	l := record.Limit{
		Owner: oneOfThese(x.Rand, mixOwners...), Kinds: slices.Clone(recordKinds[:1+x.IntN(len(recordKinds))]), Status: oneOfThese(x.Rand, "", "active", "paused"), Of: oneOfThese(x.Rand, record.Count, record.Size, record.Price),
	}
	if x.IntN(4) == 0 {
		l.Kinds, l.Parent = []record.Kind{record.Endpoint}, x.parent()
	}
	return l
}

func (x *recordMix) change() (c record.Change) {
	used := map[record.Key]bool{}
	for range max(x.IntN(6)-3, 0) {
		if k := x.key(); !used[k] {
			used[k] = true
			c.Delete = append(c.Delete, x.ref(k))
		}
	}
	clear(used)
	for range x.IntN(4) {
		if k := x.key(); !used[k] {
			used[k] = true
			c.Put = append(c.Put, x.record(k))
		}
	}
	if len(c.Put) > 0 && x.IntN(4) == 0 {
		r := c.Put[0]
		if _, exists := x.recs[r.Key]; !exists || r.Version > 0 {
			c.Need = append(c.Need, refOf(r.Owner, r.Key, 0))
		}
	}
	if k := x.key(); x.IntN(6) == 0 && !used[k] {
		c.Need = append(c.Need, x.ref(k))
	}
	for range max(x.IntN(4)-1, 0) {
		l := x.limit()
		l.Max = sumOf(x.recs, l) + x.Int64N(4) - 1 // one less, or some more, than there is
		c.Limits = append(c.Limits, l)
	}
	for range max(x.IntN(5)-2, 0) {
		c.Notes = append(c.Notes, record.Note{Ref: x.ref(x.key()), Text: fmt.Sprint(x.IntN(100))})
	}
	if owner := oneOfThese(x.Rand, mixOwners...); x.gone[owner] && x.IntN(3) == 0 {
		c.Put, c.Need, c.Gone = nil, nil, &record.Gone{Owner: owner}
	} else if len(c.Put) == 0 && x.IntN(10) == 0 {
		c.Gone = &record.Gone{Owner: owner, Until: x.start.Add(1e4 * time.Hour)}
	}
	return c
}

// recordModelMix makes random changes of a store and of the model, and compares what they show.
func recordModelMix(t *storeTest, rnd *rand.Rand) {
	m := &recordModel{recs: map[record.Key]modelRecord{}, gone: map[string]bool{}}
	x := &recordMix{rnd, m, t.start}
	for i := range sized(150, 300) {
		c, before := x.change(), m.last
		entries, refused := m.apply(c)
		n, err := t.store.Ports().Records.Apply(t.Context(), c)
		var over *record.LimitError
		if err == nil && len(refused) == 0 {
			expect(t, entriesOf(t.since(before)), entriesOf(entries), "a change has an entry for each record put or deleted")
			expect(t, n, map[bool]uint64{true: m.last}[len(entries) > 0], "Apply returns the number of its last entry, 0 if there is none")
		} else if !slices.ContainsFunc(refused, func(want error) bool { return errors.Is(err, want) || want == errAny && errors.As(err, &over) }) {
			t.Errorf("Apply returned the error %v, want one of %v, where \"any error\" is a *LimitError", err, refused)
		}
		if i%20 == 19 {
			t.likeModel(x)
		}
		if t.Failed() {
			t.Fatalf("after change %d, %+v", i, c)
		}
		if i == 100 && t.kit.Features.Durable {
			t.reopen()
		}
	}
}

// likeModel compares what the store shows with the model.
func (t *storeTest) likeModel(x *recordMix) {
	t.Helper()
	for _, owner := range mixOwners {
		for _, kind := range recordKinds {
			for _, q := range []record.Query{{Limit: 100}, {Status: "active", Limit: 100}, {Offset: x.IntN(4), Limit: 1 + x.IntN(3)}, {Parent: x.parent(), Limit: 2},
				{Name: "a", Limit: 9}, {Name: "b", Status: "active"}, {Name: "c", Limit: 9, Offset: 1}, {Name: oneOfThese(x.Rand, "a", "b", "c"), Parent: x.parent(), Limit: 9}} {
				q.Owner, q.Kind = owner, kind
				list, total, err := t.store.Ports().Records.List(t.Context(), q)
				t.ok(err, "List")
				want, wantTotal := x.list(q)
				t.same(list, want, "List of %+v", q)
				expect(t, total, wantTotal, "the total of List of %+v", q)
			}
		}
	}
	for range 20 {
		l := x.limit()
		l.Max = sumOf(x.recs, l)
		t.apply(record.Change{Limits: []record.Limit{l}})
		if l.Max--; l.Max >= 0 {
			t.overLimit(record.Change{Limits: []record.Limit{l}}, l.Max+1, "sums equal a recount after any mix")
		}
	}
	for k, r := range x.recs {
		if found, err := t.store.Ports().Records.Find(t.Context(), k.Kind, r.Lookup); r.Lookup != "" && (err != nil || found.Key != k) {
			t.Errorf("Find of %s %q gave %v and %v, want %v", k.Kind, r.Lookup, found.Key, err, k)
		}
	}
}
