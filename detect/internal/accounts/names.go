package accounts

import (
	"encoding/binary"
	"strings"
)

// names stores many short strings in a few large ones. A reference to a string takes 4 bytes, and
// the garbage collector has no pointers to follow. Targets.pack frees the space of dropped strings.
type names struct {
	chunks        []*strings.Builder
	live, garbage int // in bytes, without the lengths
}

// nameBits is how many bits of a reference hold the offset in a chunk.
const nameBits = 16

// add adds s and returns a reference to it. s and its length must fit into a chunk of 64 KB.
func (n *names) add(s string) uint32 {
	var buf [binary.MaxVarintLen64]byte
	size := binary.PutUvarint(buf[:], uint64(len(s)))
	last := len(n.chunks) - 1
	if last < 0 || n.chunks[last].Len()+size+len(s) > 1<<nameBits {
		b := &strings.Builder{}
		b.Grow(1 << nameBits) // a chunk never moves: its strings stay valid
		n.chunks = append(n.chunks, b)
		last++
	}
	b := n.chunks[last]
	ref := uint32(last)<<nameBits | uint32(b.Len())
	b.Write(buf[:size])
	b.WriteString(s)
	n.live += len(s)
	return ref
}

// at returns the string of a reference. The string shares the bytes of its chunk.
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

// drop counts a string as garbage.
func (n *names) drop(ref uint32) {
	size := len(n.at(ref))
	n.live -= size
	n.garbage += size
}

// wasteful reports whether packing would save at least half of the space and more than 1
// MB.
func (n *names) wasteful() bool { return n.garbage > 1<<20 && n.garbage > n.live }
