package due

import "math/bits"

// The wheel has levels of buckets. A bucket of the finest holds the entries of
// 64 ms, one of the next those of 65.5 s, a whole turn of the finest; then
// 18.6 hours and 2.2 years. So most entries never go from one level to the next:
// polls are a minute apart or less.
const (
	fineBits = 6
	turnBits = 10
	turn     = 1 << turnBits // buckets of a level
	levels   = 4             // with 46 bits for the 40 of a due time
)

// wheel keeps entries due from a horizon on. A bucket is known by the due times
// it holds, counted in its level's width, modulo the turn: all of a level lie
// within one turn from the horizon. They go down a level, or to the heap, when
// the horizon reaches the beginning of their bucket, which is the latest for
// their order to matter.
type wheel struct {
	chunks
	buckets [levels][turn]bucket
	used    [levels][turn / 64]uint64 // a bit for each bucket, set unless it is empty
}

func shift(level int) uint { return uint(fineBits + level*turnBits) }

// endOf is the end of the finest bucket that a due time lies in.
func endOf(due uint64) uint64 { return (due>>fineBits + 1) << fineBits }

// put puts e into a bucket of the finest level that reaches as far, and says
// where.
func (w *wheel) put(e, horizon uint64) place {
	level := 0
	for dueOf(e)>>shift(level)-horizon>>shift(level) >= turn {
		level++
	}
	i := dueOf(e) >> shift(level) % turn
	w.used[level][i/64] |= 1 << (i % 64)
	return place(level+1)<<indexBits | place(w.push(&w.buckets[level][i], e))
}

// cut takes out the entry at p, and gives the one that has moved there for that:
// itself when it was the last of its bucket.
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

// first takes out the bucket that begins first, and says where the horizon is
// to be for its entries: after them when they are of the finest level, and else
// at its beginning. Of buckets that begin together the coarser comes first,
// since what is in it may be due as early. The wheel must not be empty.
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

// ahead is how many buckets of a level after the given one the first lies that
// is not empty.
func (w *wheel) ahead(level int, from uint64) (n uint64, ok bool) {
	used := &w.used[level]
	word := used[from/64] >> (from % 64)
	for n = 0; word == 0; word = used[(from+n)%turn/64] {
		n += 64 - (from+n)%64 // to the beginning of the next word
		if n >= turn {
			return 0, false
		}
	}
	return n + uint64(bits.TrailingZeros64(word)), true
}

// clear takes out all buckets that are not empty.
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
