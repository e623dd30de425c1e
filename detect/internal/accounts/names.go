package accounts

import (
	"encoding/binary"
	"strings"
)

// names keeps many short strings in a few large ones: 4 bytes refer to one,
// and the garbage collector has nothing to follow. What is let go is counted;
// its space comes back when the shard packs its names anew.
type names struct {
	chunks        []*strings.Builder
	live, garbage int // bytes
}

// nameBits is the part of a reference that counts within a chunk.
const nameBits = 16

// add keeps s, of at most 64 KB less its length, and gives its reference.
func (n *names) add(s string) uint32 {
	var buf [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(buf[:], uint64(len(s)))
	last := len(n.chunks) - 1
	if last < 0 || n.chunks[last].Len()+size+len(s) > 1<<nameBits {
		b := &strings.Builder{}
		b.Grow(1 << nameBits) // never moves: strings in it stay good
		n.chunks = append(n.chunks, b)
		last++
	}
	b := n.chunks[last]
	ref := uint32(last)<<nameBits | uint32(b.Len())
	b.Write(buf[:size])
	b.WriteString(s)
	n.live += size + len(s)
	return ref
}

// at gives the string; it shares its bytes.
func (n *names) at(ref uint32) string {
	s := n.chunks[ref>>nameBits].String()[ref&(1<<nameBits-1):]
	length, shift := 0, 0
	for i := 0; ; i++ {
		length |= int(s[i]&0x7f) << shift
		if s[i] < 0x80 {
			return s[i+1 : i+1+length]
		}
		shift += 7
	}
}

// drop lets a string go.
func (n *names) drop(ref uint32) {
	size := len(n.at(ref)) + 1
	n.live -= size
	n.garbage += size
}

// wasteful reports whether packing anew would halve what names keep.
func (n *names) wasteful() bool { return n.garbage > 1<<20 && n.garbage > n.live }
