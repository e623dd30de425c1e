package accounts

import (
	"math/bits"
)

// roster is a hash table from names to slots, with linear probing. It takes about 5 bytes per
// account. It holds only slots; the names are in names.
type roster struct {
	table []int32 // slot + 1; 0 is empty
	n     int
	hash  func(slot int32) uint64
}

// home returns the index at which the search for a hash begins. It uses the high bits,
// because the low bits choose the shard.
func (r *roster) home(hash uint64) int {
	hi, _ := bits.Mul64(hash, uint64(len(r.table)))
	return int(hi)
}

// find returns the slot that has the given hash and for which is returns true.
func (r *roster) find(hash uint64, is func(slot int32) bool) (int32, bool) {
	if r.n == 0 {
		return 0, false
	}
	for i := r.home(hash); r.table[i] != 0; i = r.after(i) {
		if slot := r.table[i] - 1; is(slot) {
			return slot, true
		}
	}
	return 0, false
}

func (r *roster) after(i int) int {
	if i++; i == len(r.table) {
		return 0
	}
	return i
}

// add adds a slot that is not in the table.
func (r *roster) add(slot int32) {
	if r.n >= len(r.table)*7/8 {
		old := r.table
		r.table = make([]int32, max(16, len(old)+len(old)/4))
		for _, s := range old {
			if s != 0 {
				r.put(s)
			}
		}
	}
	r.put(slot + 1)
	r.n++
}

func (r *roster) put(entry int32) {
	i := r.home(r.hash(entry - 1))
	for r.table[i] != 0 {
		i = r.after(i)
	}
	r.table[i] = entry
}

// remove removes a slot and moves later entries up to fill the hole.
func (r *roster) remove(slot int32) {
	if r.n == 0 {
		return
	}
	hole := r.home(r.hash(slot))
	for r.table[hole] != slot+1 {
		if r.table[hole] == 0 {
			return
		}
		hole = r.after(hole)
	}
	r.n--
	for i := r.after(hole); r.table[i] != 0; i = r.after(i) {
		// A later entry moves into the hole, unless its home lies between the hole and the entry.
		home := r.home(r.hash(r.table[i] - 1))
		if between := (i-home+len(r.table))%len(r.table) < (i-hole+len(r.table))%len(r.table); !between {
			r.table[hole] = r.table[i]
			hole = i
		}
	}
	r.table[hole] = 0
}
