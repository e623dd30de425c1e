package parts

import (
	"math/bits"
	"slices"
	"sync"
	"time"
)

// Elsewhere records which sources want the accounts that other nodes poll. It identifies an account
// by its accounts.HashName, and takes about 25 bytes per account and source. It is safe for
// concurrent use. The zero value is empty.
type Elsewhere struct {
	mu sync.RWMutex
	// A hash table with linear probing and an entry for each account.
	keys []uint64 // 0 for an empty entry
	of   []int32  // the source if there is only one, otherwise ^ the index of the first node
	n    int      // number of accounts

	nodes   []node
	free    int32 // index + 1 of the first free node; 0 if there is none
	sources []source
	unused  []int32          // indexes of free sources
	byID    map[string]int32 // indexes of sources
}

// node is an entry in the list of an account's sources. next is the index + 1 of the next node, 0
// at the end.
type node struct{ source, next int32 }

// source is a monitor or rule.
type source struct {
	Terms
	joined time.Time
	hashes []uint64 // hashes of its accounts, sorted
}

// Terms are the terms of a source.
type Terms struct {
	Owner    string
	Rule     bool
	Interval time.Duration // 0 if it has none
}

// Set sets the accounts that a source wants, by sorted hashes. Without hashes the source is
// dropped. joined is when the source began to want the added accounts. It is zero if other nodes or
// processes have read them for the source before.
func (x *Elsewhere) Set(id string, t Terms, hashes []uint64, joined time.Time) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.set(id, t, hashes, joined)
}

// set is Set for a caller that holds the lock.
func (x *Elsewhere) set(id string, t Terms, hashes []uint64, joined time.Time) {
	i, known := x.byID[id]
	switch {
	case !known && len(hashes) == 0:
		return
	case !known:
		i = x.newSource(id)
	}
	src := &x.sources[i]
	src.Terms = t
	if slices.Equal(src.hashes, hashes) {
		return
	}
	had := src.hashes
	src.hashes = slices.Clone(hashes)
	for _, h := range had {
		if _, keeps := slices.BinarySearch(hashes, h); !keeps {
			x.remove(h, i)
		}
	}
	for _, h := range hashes {
		if _, there := slices.BinarySearch(had, h); !there {
			x.add(h, i)
			if !joined.IsZero() {
				src.joined = joined
			}
		}
	}
	if len(hashes) == 0 {
		x.sources[i] = source{}
		x.unused = append(x.unused, i)
		delete(x.byID, id)
	}
}

// Add adds accounts to those of a source.
func (x *Elsewhere) Add(id string, t Terms, hashes []uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if i, known := x.byID[id]; known {
		hashes = append(slices.Clone(x.sources[i].hashes), hashes...)
	}
	slices.Sort(hashes)
	x.set(id, t, slices.Compact(hashes), time.Time{})
}

// Has reports whether another node polls an account, and the monitor or rule with the given id
// wants the account.
func (x *Elsewhere) Has(id string, hash uint64) bool {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, known := x.byID[id]
	if !known {
		return false
	}
	_, has := slices.BinarySearch(x.sources[i].hashes, hash)
	return has
}

// Joined returns the last joined time other than zero that Set got for a source; zero if there is
// none.
func (x *Elsewhere) Joined(id string) time.Time {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i, known := x.byID[id]; known {
		return x.sources[i].joined
	}
	return time.Time{}
}

// Wants combines the terms of an account's sources.
type Wants struct {
	Sources   int
	Shortest  time.Duration // the shortest interval; 0 if there is none
	ByMonitor time.Duration // the shortest interval of a monitor; 0 if there is none
}

// Wants returns the Wants of an account. It counts only sources with an owner for which of returns
// true. If of is nil, it counts all sources.
func (x *Elsewhere) Wants(hash uint64, of func(owner string) bool) (w Wants) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	at, ok := x.find(hash)
	if !ok {
		return w
	}
	return x.wants(x.of[at], of)
}

func (x *Elsewhere) wants(at int32, of func(owner string) bool) (w Wants) {
	if at >= 0 {
		w.add(x.sources[at].Terms, of)
		return w
	}
	for n := ^at + 1; n != 0; n = x.nodes[n-1].next {
		w.add(x.sources[x.nodes[n-1].source].Terms, of)
	}
	return w
}

func (w *Wants) add(t Terms, of func(owner string) bool) {
	if of != nil && !of(t.Owner) {
		return
	}
	w.Sources++
	if t.Interval == 0 {
		return
	}
	if w.Shortest == 0 || t.Interval < w.Shortest {
		w.Shortest = t.Interval
	}
	if !t.Rule && (w.ByMonitor == 0 || t.Interval < w.ByMonitor) {
		w.ByMonitor = t.Interval
	}
}

// Len returns the number of accounts.
func (x *Elsewhere) Len() int {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.n
}

func (x *Elsewhere) newSource(id string) int32 {
	if x.byID == nil {
		x.byID = map[string]int32{}
	}
	i := int32(len(x.sources))
	if n := len(x.unused); n > 0 {
		i, x.unused = x.unused[n-1], x.unused[:n-1]
	} else {
		x.sources = append(x.sources, source{})
	}
	x.byID[id] = i
	return i
}

// add adds a source that the account does not have.
func (x *Elsewhere) add(hash uint64, source int32) {
	at, ok := x.find(hash)
	if !ok {
		x.insert(hash, source)
		return
	}
	first := int32(0)
	if only := x.of[at]; only >= 0 {
		first = x.newNode(only, 0)
	} else {
		first = ^only + 1
	}
	x.of[at] = ^(x.newNode(source, first) - 1)
}

// newNode adds a node and returns its index + 1.
func (x *Elsewhere) newNode(source, next int32) int32 {
	if n := x.free; n != 0 {
		x.free = x.nodes[n-1].next
		x.nodes[n-1] = node{source, next}
		return n
	}
	x.nodes = append(x.nodes, node{source, next})
	return int32(len(x.nodes))
}

// remove removes a source from an account that has it.
func (x *Elsewhere) remove(hash uint64, source int32) {
	at, _ := x.find(hash)
	if x.of[at] >= 0 {
		x.delete(at)
		return
	}
	first := ^x.of[at] + 1
	for link := &first; *link != 0; link = &x.nodes[*link-1].next {
		if n := *link; x.nodes[n-1].source == source {
			*link = x.nodes[n-1].next
			x.nodes[n-1].next, x.free = x.free, n
			break
		}
	}
	if last := x.nodes[first-1]; last.next == 0 {
		x.of[at] = last.source
		x.nodes[first-1].next, x.free = x.free, first
		return
	}
	x.of[at] = ^(first - 1)
}

// key returns the key of a hash. A key is never 0, because 0 marks an empty entry.
func key(hash uint64) uint64 { return max(hash, 1) }

// home returns the index at which the search for a key begins.
func (x *Elsewhere) home(key uint64) int {
	hi, _ := bits.Mul64(key, uint64(len(x.keys)))
	return int(hi)
}

func (x *Elsewhere) after(i int) int {
	if i++; i == len(x.keys) {
		return 0
	}
	return i
}

func (x *Elsewhere) find(hash uint64) (at int, ok bool) {
	if x.n == 0 {
		return 0, false
	}
	k := key(hash)
	for at = x.home(k); x.keys[at] != 0; at = x.after(at) {
		if x.keys[at] == k {
			return at, true
		}
	}
	return 0, false
}

// insert adds an account that is not in the table.
func (x *Elsewhere) insert(hash uint64, source int32) {
	if size := len(x.keys); x.n >= size*7/8 {
		x.resize(max(16, size+size/4))
	}
	x.put(key(hash), source)
	x.n++
}

func (x *Elsewhere) resize(size int) {
	keys, of := x.keys, x.of
	x.keys, x.of = make([]uint64, size), make([]int32, size)
	for i, k := range keys {
		if k != 0 {
			x.put(k, of[i])
		}
	}
}

func (x *Elsewhere) put(key uint64, of int32) {
	at := x.home(key)
	for x.keys[at] != 0 {
		at = x.after(at)
	}
	x.keys[at], x.of[at] = key, of
}

// delete empties an entry, and moves later entries up to fill the hole.
func (x *Elsewhere) delete(hole int) {
	size := len(x.keys)
	for i := x.after(hole); x.keys[i] != 0; i = x.after(i) {
		home := x.home(x.keys[i])
		if between := (i-home+size)%size < (i-hole+size)%size; !between {
			x.keys[hole], x.of[hole] = x.keys[i], x.of[i]
			hole = i
		}
	}
	x.keys[hole] = 0
	if x.n--; size > 1024 && x.n < size/4 {
		x.resize(size / 2)
	}
	if x.n == 0 {
		x.nodes, x.free = nil, 0
	}
}
