package main

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/record"
)

// records implements record.Store. A row of state.Records keeps its place when it is replaced, so the
// rows are in the order of creation.
type records struct{ s *Store }

const entriesKept = 10_000 // in the feed

func recordID(k record.Key) string { return fmt.Sprintf("%s %q", k.Kind, k.ID) }

// find returns the record of a reference.
func (s *state) find(ref record.Ref) (record.Record, error) {
	r, ok := s.Records.get(recordID(ref.Key))
	switch {
	case !ok || r.Owner != ref.Owner:
		return record.Record{}, &record.Error{Key: ref.Key, Err: record.ErrNotFound}
	case ref.Version != 0 && r.Version != ref.Version:
		return record.Record{}, &record.Error{Key: ref.Key, Err: record.ErrConflict}
	}
	r.Data = bytes.Clone(r.Data)
	return r, nil
}

// match returns copies of the records that match, in the order of creation.
func (s *state) match(match func(*record.Record) bool) (list []record.Record) {
	for _, r := range s.Records.all() {
		if match(&r) {
			r.Data = bytes.Clone(r.Data)
			list = append(list, r)
		}
	}
	return list
}

func (rs records) Get(ctx context.Context, owner string, k record.Key) (r record.Record, err error) {
	failed := rs.s.view(ctx, func(st *state, _ time.Time) { r, err = st.find(record.Ref{Key: k, Owner: owner}) })
	if failed != nil {
		err = failed
	}
	return r, err
}

func (rs records) Find(ctx context.Context, k record.Kind, lookup string) (record.Record, error) {
	var found []record.Record
	err := rs.s.view(ctx, func(st *state, _ time.Time) {
		found = st.match(func(r *record.Record) bool { return r.Kind == k && r.Lookup == lookup && lookup != "" })
	})
	switch {
	case err != nil:
		return record.Record{}, err
	case len(found) == 0:
		return record.Record{}, record.ErrNotFound
	}
	return found[0], nil
}

func (rs records) List(ctx context.Context, q record.Query) (list []record.Record, total int, err error) {
	err = rs.s.view(ctx, func(st *state, _ time.Time) {
		list = st.match(func(r *record.Record) bool {
			return r.Owner == q.Owner && r.Kind == q.Kind && (q.Parent.IsZero() || r.Parent == q.Parent) && (q.Status == "" || r.Status == q.Status) &&
				(q.Name == "" || r.Name == q.Name && r.Parent == q.Parent)
		})
	})
	total = len(list)
	list = list[min(q.Offset, total):]
	return list[:min(q.Limit, len(list))], total, err
}

// Scan shows what was there when it began.
func (rs records) Scan(ctx context.Context, k record.Kind, fn func(record.Record) error) error {
	var list []record.Record
	err := rs.s.view(ctx, func(st *state, _ time.Time) {
		list = st.match(func(r *record.Record) bool { return r.Kind == k })
	})
	if err != nil {
		return err
	}
	for _, r := range list {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := fn(r); err != nil {
			return err
		}
	}
	return nil
}

func (rs records) Since(ctx context.Context, after uint64, limit int) (list []record.Entry, last uint64, err error) {
	failed := rs.s.view(ctx, func(st *state, _ time.Time) {
		last, _ = st.Numbers.get("feed")
		if after > last || last-after > entriesKept {
			err = record.ErrTooOld
			return
		}
		for n := after + 1; n <= last && len(list) < limit; n++ {
			e, _ := st.Feed.get(strconv.FormatUint(n, 10))
			list = append(list, e)
		}
	})
	if failed != nil {
		err = failed
	}
	return list, last, err
}

func (rs records) Apply(ctx context.Context, c record.Change) (feed uint64, err error) {
	if err := c.Validate(); err != nil {
		return 0, err
	}
	err = rs.s.update(ctx, func(draft *state, now time.Time) error {
		before, _ := draft.Numbers.get("feed")
		if err := draft.change(&c, now); err != nil {
			return err
		}
		if n, _ := draft.Numbers.get("feed"); n > before {
			feed = n
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return feed, nil
}

// change makes a change in a draft, which is dropped after an error.
func (s *state) change(c *record.Change, now time.Time) error {
	for _, r := range c.Put {
		if s.refused(r.Owner, now) {
			return &record.Error{Key: r.Key, Err: record.ErrGone}
		}
	}
	for _, ref := range c.Delete {
		if _, err := s.find(ref); err != nil {
			return err
		}
	}
	for _, ref := range c.Delete {
		for _, r := range s.match(func(r *record.Record) bool {
			return r.Key == ref.Key || r.Parent == ref.Key && r.Owner == ref.Owner
		}) {
			s.delete(&r, now)
		}
	}
	var taken error
	for _, r := range c.Put {
		if err := s.put(r); err != nil {
			if r.Version != 0 {
				return err
			}
			taken = err
		}
	}
	for _, ref := range c.Need {
		if _, err := s.find(ref); err != nil {
			return err
		}
	}
	if taken != nil {
		return taken
	}
	if err := s.unique(c.Put); err != nil {
		return err
	}
	for _, l := range c.Limits {
		if have := s.sum(l); have > l.Max {
			return &record.LimitError{Limit: l, Have: have}
		}
	}
	for _, n := range c.Notes {
		if r, err := s.find(n.Ref); err == nil {
			r.Note = n.Text
			s.Records.put(recordID(r.Key), r)
		}
	}
	if c.Gone != nil {
		id := record.OwnerID(c.Gone.Owner)
		if s.Gone.remove(id); !c.Gone.Until.IsZero() {
			s.Gone.put(id, c.Gone.Until)
		}
		s.enter(record.Key{Kind: record.Owner, ID: id}, "")
	}
	return nil
}

// put creates a record, or replaces its version.
func (s *state) put(r record.Record) error {
	id := recordID(r.Key)
	if r.Version == 0 {
		if _, ok := s.Records.get(id); ok {
			return &record.Error{Key: r.Key, Err: record.ErrDuplicate}
		}
		r.Note = ""
	} else {
		old, err := s.find(r.Ref())
		if err != nil {
			return err
		}
		r.Parent, r.CreatedAt, r.Note = old.Parent, old.CreatedAt, old.Note
	}
	r.Version++
	s.Records.put(id, r)
	s.enter(r.Key, r.Owner)
	return nil
}

// delete removes a record and what ends with it.
func (s *state) delete(r *record.Record, now time.Time) {
	s.Records.remove(recordID(r.Key))
	s.enter(r.Key, r.Owner)
	if r.Kind != record.Endpoint {
		s.Totals.remove(totalKey(billing.Source{Owner: r.Owner, Kind: billing.Kind(r.Kind), ID: r.ID}))
		return
	}
	s.Replays.remove(r.ID)
	for id, d := range s.Deliveries.all() {
		if d.EndpointID == r.ID && !d.State.Final() {
			s.orphan(id, d, now)
		}
	}
}

// unique returns an error if one of the records has the name or the lookup of another.
func (s *state) unique(recs []record.Record) error {
	for i := range recs {
		r, _ := s.Records.get(recordID(recs[i].Key))
		for _, o := range s.Records.all() {
			if o.Key != r.Key && o.Kind == r.Kind &&
				(r.Name != "" && r.Name == o.Name && r.Owner == o.Owner && r.Parent == o.Parent || r.Lookup != "" && r.Lookup == o.Lookup) {
				return &record.Error{Key: r.Key, Err: record.ErrDuplicate}
			}
		}
	}
	return nil
}

func (s *state) sum(l record.Limit) (sum int64) {
	for _, r := range s.Records.all() {
		if r.Owner == l.Owner && slices.Contains(l.Kinds, r.Kind) && (l.Parent.IsZero() || r.Parent == l.Parent) && (l.Status == "" || r.Status == l.Status) {
			sum += [...]int64{record.Count: 1, record.Size: r.Size, record.Price: r.Price}[l.Of]
		}
	}
	return sum
}

// enter adds an entry to the feed, and removes one that is too old.
func (s *state) enter(k record.Key, owner string) {
	n := s.count("feed")
	s.Feed.put(strconv.FormatUint(n, 10), record.Entry{N: n, Key: k, Owner: owner})
	if n > entriesKept {
		s.Feed.remove(strconv.FormatUint(n-entriesKept, 10))
	}
}

// count returns the next number of a name.
func (s *state) count(name string) uint64 {
	n, _ := s.Numbers.get(name)
	s.Numbers.put(name, n+1)
	return n + 1
}

// refused reports whether an owner is refused.
func (s *state) refused(owner string, now time.Time) bool {
	until, _ := s.Gone.get(record.OwnerID(owner))
	return now.Before(until)
}
