package memory

import (
	"bytes"
	"container/heap"
	"container/list"
	"context"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

// state implements record.State.
type state struct{ s *Store }

// values holds the values. The caller holds the store's lock.
type values struct {
	byName   map[record.Name]*value
	version  uint64          // the last one given to a value
	passing  *list.List      // of *value, those with a ttl, oldest first
	ofOwner  map[string]int  // number of values in passing by owner
	bytes    int             // of all values in passing
	expiring minHeap[*value] // the values in passing by their end
}

// value is a stored value. The bytes behind data never change.
type value struct {
	name    record.Name
	data    []byte
	version uint64
	until   time.Time     // zero for ever
	at      *list.Element // in passing; nil for a value without a ttl
	index   int           // in expiring
}

func (v *value) before(o *value) bool { return v.until.Before(o.until) }
func (v *value) heapIndex() *int      { return &v.index }

func newValues() values {
	return values{byName: make(map[record.Name]*value), passing: list.New(), ofOwner: make(map[string]int)}
}

func (st state) Get(ctx context.Context, n record.Name) (record.Value, error) {
	if err := st.s.lock(ctx); err != nil {
		return record.Value{}, err
	}
	defer st.s.mu.Unlock()
	st.s.values.expire(st.s.opts.Now())
	v := st.s.values.byName[n]
	if v == nil {
		return record.Value{}, record.ErrNotFound
	}
	return record.Value{Data: bytes.Clone(v.data), Version: v.version}, nil
}

func (st state) Swap(ctx context.Context, n record.Name, version uint64, data []byte, ttl time.Duration) (uint64, error) {
	s, vs := st.s, &st.s.values
	if err := record.ValidateTTL(ttl); err != nil {
		return 0, err
	}
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	now := s.opts.Now()
	if ttl > 0 && s.records.refused(n.Owner, now) {
		return 0, record.ErrGone
	}
	vs.expire(now)
	had := vs.byName[n]
	if had == nil && version != 0 || had != nil && had.version != version {
		return 0, record.ErrConflict
	}
	if had != nil {
		vs.remove(had)
	}
	if len(data) == 0 {
		return 0, nil
	}
	vs.version++
	v := &value{name: n, data: bytes.Clone(data), version: vs.version}
	vs.byName[n] = v
	if ttl > 0 {
		v.until = now.Add(ttl).Round(0)
		vs.bound(v)
	}
	return v.version, nil
}

// bound counts a value with a ttl, and removes the oldest ones until the limits are met.
func (vs *values) bound(v *value) {
	v.at = vs.passing.PushBack(v)
	heap.Push(&vs.expiring, v)
	vs.ofOwner[v.name.Owner]++
	vs.bytes += len(v.data)
	if vs.ofOwner[v.name.Owner] > record.MaxValuesOf {
		e := vs.passing.Front()
		for e.Value.(*value).name.Owner != v.name.Owner {
			e = e.Next()
		}
		vs.remove(e.Value.(*value))
	}
	for vs.passing.Len() > record.MaxValues || vs.bytes > record.MaxValueBytes {
		vs.remove(vs.passing.Front().Value.(*value))
	}
}

// expire removes the values whose ttl is over.
func (vs *values) expire(now time.Time) {
	for len(vs.expiring) > 0 && !now.Before(vs.expiring[0].until) {
		vs.remove(vs.expiring[0])
	}
}

func (vs *values) remove(v *value) {
	delete(vs.byName, v.name)
	if v.at == nil {
		return
	}
	vs.passing.Remove(v.at)
	heap.Remove(&vs.expiring, v.index)
	vs.bytes -= len(v.data)
	if vs.ofOwner[v.name.Owner]--; vs.ofOwner[v.name.Owner] == 0 {
		delete(vs.ofOwner, v.name.Owner)
	}
}

// erase removes an owner's values with a ttl, and returns how many there were.
func (vs *values) erase(owner string) (n int) {
	for e := vs.passing.Front(); e != nil; {
		v := e.Value.(*value)
		e = e.Next()
		if v.name.Owner == owner {
			vs.remove(v)
			n++
		}
	}
	return n
}
