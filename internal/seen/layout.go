package seen

import (
	"encoding/binary"
	"math/bits"
)

// A window's ids are stored in one string, without unused bytes and without pointers for the
// garbage collector to follow:
//
//	keys     count × width bits: two runs, each ascending, minus the base
//	ends     count × 4 bytes: where each id ends in the text; only with text
//	text     the ids; only with text
//	trailer  base 8 bytes, count 4, last 4, form 1; all numbers little-endian
//
// Posts of one account are close in time, so the upper bits of their ids are mostly the same. For
// snowflake ids of a page over a month, a key has 54 bits. With text the keys are hashes. The
// trailer is at the end, next to the newest keys. So a load of eight bytes at a key never reaches
// past the string.
const (
	trailerSize = 8 + 4 + 4 + 1
	textForm    = 0xff // any other form is the width
	// A load of eight bytes at any bit offset contains a key of up to widestPacked bits.
	widestPacked = 57
)

// layout is a decoded string.
type layout struct {
	data  string
	base  uint64
	mask  uint64 // width one bits
	count int
	last  int   // length of the first run
	width uint8 // bits per key
	text  bool
}

func readLayout(data string) layout {
	if data == "" {
		return layout{}
	}
	t := len(data) - trailerSize
	counts := load64(data, t+8)
	l := layout{data: data, base: load64(data, t), width: data[t+16], count: int(uint32(counts)), last: int(counts >> 32)}
	if l.width == textForm {
		l.text, l.width = true, 64
	}
	l.mask = 1<<l.width - 1
	return l
}

// offset returns the i-th key minus the base.
func (l *layout) offset(i int) uint64 {
	bit := i * int(l.width)
	return load64(l.data, bit>>3) >> (bit & 7) & l.mask
}

// id returns the i-th id, with text.
func (l *layout) id(i int) string {
	ends := l.count * 8
	text := ends + l.count*4
	from := 0
	if i > 0 {
		from = l.end(ends, i-1)
	}
	return l.data[text+from : text+l.end(ends, i)]
}

func (l *layout) end(ends, i int) int { return int(uint32(load64(l.data, ends+4*i))) }

// want returns the offset that an id would have in the window. It returns false for a text id in
// a window of numbers.
func (l *layout) want(id string) (uint64, bool) {
	if l.text {
		return textKey(id), true
	}
	key, numeric := numericKey(id)
	return key - l.base, numeric
}

// find returns the index of an id with the offset want, or -1 if the id is not in the window.
func (l *layout) find(want uint64, id string) int {
	if i := l.search(want, id, 0, l.last); i >= 0 || l.last == l.count {
		return i
	}
	return l.search(want, id, l.last, l.count)
}

// search is find in one run. Ids with the same hash are adjacent in a run.
func (l *layout) search(want uint64, id string, from, to int) int {
	end := to
	for from < to {
		mid := int(uint(from+to) / 2)
		if l.offset(mid) < want {
			from = mid + 1
		} else {
			to = mid
		}
	}
	for ; from < end && l.offset(from) == want; from++ {
		if !l.text || l.id(from) == id {
			return from
		}
	}
	return -1
}

// pack returns the string of two runs. Each run must be sorted and without duplicates.
func pack(first, second []entry, text bool) string {
	count := len(first) + len(second)
	if count == 0 {
		return ""
	}
	low, high := ^uint64(0), uint64(0)
	length := 0
	for _, run := range [2][]entry{first, second} {
		if len(run) > 0 {
			low, high = min(low, run[0].key), max(high, run[len(run)-1].key)
		}
		for i := range run {
			length += len(run[i].id)
		}
	}
	width := bits.Len64(high - low)
	form := width
	if text || width > widestPacked {
		low, width, form = 0, 64, 64
	}
	keys := (count*width + 7) / 8
	size := keys + trailerSize
	if text {
		form = textForm
		size += count*4 + length
	}
	var small [512]byte // most windows fit; the string is a copy
	out := append(small[:0], make([]byte, size)...)
	i, end := 0, 0
	for _, run := range [2][]entry{first, second} {
		for _, e := range run {
			bit := i * width
			at := out[bit>>3:]
			binary.LittleEndian.PutUint64(at, binary.LittleEndian.Uint64(at)|(e.key-low)<<(bit&7))
			if text {
				copy(out[keys+count*4+end:], e.id)
				end += len(e.id)
				binary.LittleEndian.PutUint32(out[keys+4*i:], uint32(end))
			}
			i++
		}
	}
	t := out[size-trailerSize:]
	binary.LittleEndian.PutUint64(t, low)
	binary.LittleEndian.PutUint32(t[8:], uint32(count))
	binary.LittleEndian.PutUint32(t[12:], uint32(len(first)))
	t[16] = byte(form)
	return string(out)
}
