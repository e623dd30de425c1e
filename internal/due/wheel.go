package due

import "math/bits"

// The wheel has levels of buckets. A bucket of the finest level covers 64 ms, a bucket of
// the next level 65.5 s, which is a whole turn of the finest; then 18.6 hours and 2.2
// years. Most entries never move from one level to the next, because polls are a minute
// apart or less.
const (
	fineBits = 6
	turnBits = 10
	turn     = 1 << turnBits // number of buckets of a level
	levels   = 4             // 46 bits, enough for the 40 of a due time
)

// wheel holds the entries due from a horizon on. The index of a bucket is its due time in
// units of its level's width, modulo turn: all entries of a level are within one turn of
// the horizon. Entries move down a level, or to the heap, when the horizon reaches the
// start of their bucket. Their order does not matter before that.
type wheel struct {
	chunks
	buckets [levels][turn]bucket
	used    [levels][turn / 64]uint64 // a bit for each bucket: 1 if it is not empty
}

func shift(level int) uint { return uint(fineBits + level*turnBits) }

// endOf returns the end of the finest bucket that covers a due time.
func endOf(due uint64) uint64 { return (due>>fineBits + 1) << fineBits }

// put adds e to a bucket of the finest level that reaches far enough, and returns its
// place.
func (w *wheel) put(e, horizon uint64) place {
	level := 0
	for dueOf(e)>>shift(level)-horizon>>shift(level) >= turn {
		level++
	}
	i := dueOf(e) >> shift(level) % turn
	w.used[level][i/64] |= 1 << (i % 64)
	return place(level+1)<<indexBits | place(w.push(&w.buckets[level][i], e))
}

// cut removes the entry at p. It returns the entry that has moved to p, which is the
// removed entry itself if that was the last of its bucket.
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

// first removes the bucket that begins first, and returns where the horizon must be for its
// entries: at the end of the bucket if it is of the finest level, otherwise at its start.
// If several begin together, it takes the coarsest, since its entries may be due as early.
// The wheel must not be empty.
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

// ahead returns how many buckets after from the first non-empty bucket of a level is.
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
