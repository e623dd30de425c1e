package due

import "math/bits"

// The wheel has levels of buckets. A bucket of the finest level covers 64 ms. A bucket of each
// other level covers a whole turn of the level below: 65.5 s, 18.6 hours and 2.2 years. Most
// entries stay in one level, because polls are a minute apart or less.
const (
	fineBits = 6
	turnBits = 10
	turn     = 1 << turnBits // number of buckets of a level
	levels   = 4             // cover 46 bits; a due time has 40
)

// wheel has the entries due from a horizon on. All entries of a level are due within one turn
// from the horizon. The index of an entry's bucket is its due time in units of a bucket's width,
// modulo turn. When the horizon reaches the start of a bucket, its entries move to finer levels
// or to the heap. They have no order before that.
type wheel struct {
	chunks
	buckets [levels][turn]bucket
	used    [levels][turn / 64]uint64 // a bit for each bucket: 1 if it is not empty
}

func shift(level int) uint { return uint(fineBits + level*turnBits) }

// endOf returns the end of the bucket of the finest level that covers a due time.
func endOf(due uint64) uint64 { return (due>>fineBits + 1) << fineBits }

// put adds e to the finest level that reaches far enough, and returns the place of e.
func (w *wheel) put(e, horizon uint64) place {
	level := 0
	for dueOf(e)>>shift(level)-horizon>>shift(level) >= turn {
		level++
	}
	i := dueOf(e) >> shift(level) % turn
	w.used[level][i/64] |= 1 << (i % 64)
	return place(level+1)<<indexBits | place(w.push(&w.buckets[level][i], e))
}

// cut removes the entry at p. Another entry of the bucket moves to p, and cut returns it. If the
// removed entry was the last of the bucket, cut returns the removed entry.
func (w *wheel) cut(p place) (moved uint64) {
	level := p.level()
	i := dueOf(w.words[p.index()]) >> shift(level) % turn
	b := &w.buckets[level][i]
	moved = w.chunks.cut(b, p.index())
	if b.n == 0 {
		w.used[level][i/64] &^= 1 << (i % 64)
	}
	return moved
}

// first removes the bucket that begins first, and returns the horizon for its entries. That is
// the end of the bucket for the finest level, and its start for others. If several buckets begin
// at the same time, first takes the coarsest, whose entries may be due just as early. The wheel
// must not be empty.
func (w *wheel) first(horizon uint64) (b bucket, moved uint64) {
	var level int
	begin := uint64(1 << 63)
	for l := levels - 1; l >= 0; l-- {
		from := horizon >> shift(l)
		if ahead, ok := w.ahead(l, from%turn); ok && (from+ahead)<<shift(l) < begin {
			level, begin = l, (from+ahead)<<shift(l)
		}
	}
	i := begin >> shift(level) % turn
	b, w.buckets[level][i] = w.buckets[level][i], bucket{}
	w.used[level][i/64] &^= 1 << (i % 64)
	if level == 0 {
		return b, endOf(begin)
	}
	return b, begin
}

// ahead returns the distance from the bucket from to the first non-empty bucket of a level.
func (w *wheel) ahead(level int, from uint64) (n uint64, ok bool) {
	used := &w.used[level]
	word := used[from/64] >> (from % 64)
	for n = 0; word == 0; word = used[(from+n)%turn/64] {
		n += 64 - (from+n)%64 // go to the start of the next word
		if n >= turn {
			return 0, false
		}
	}
	return n + uint64(bits.TrailingZeros64(word)), true
}

// clear removes and returns all buckets that are not empty.
func (w *wheel) clear() []bucket {
	var all []bucket
	for l := range w.buckets {
		for _, b := range w.buckets[l] {
			if b.n > 0 {
				all = append(all, b)
			}
		}
	}
	w.buckets, w.used = [levels][turn]bucket{}, [levels][turn / 64]uint64{}
	return all
}
