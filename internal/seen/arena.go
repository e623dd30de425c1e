package seen

import "encoding/binary"

// Sizes of the chunks of an arena. The first chunk is small because most sets are small. Each
// further chunk is twice as large, up to largestChunk.
const (
	firstChunk   = 512
	largestChunk = 256 << 10
)

// arena stores ids that are not numbers, each after its length, in chunks that never move. A
// reference has the number of the chunk in the upper 32 bits, and the offset in the lower 32.
type arena struct {
	chunks [][]byte
}

func (a *arena) put(id string) (ref uint64) {
	n := len(a.chunks)
	need := binary.MaxVarintLen32 + len(id)
	if n == 0 || cap(a.chunks[n-1])-len(a.chunks[n-1]) < need {
		size := firstChunk
		if n > 0 {
			size = min(2*cap(a.chunks[n-1]), largestChunk)
		}
		a.chunks = append(a.chunks, make([]byte, 0, max(size, need)))
		n++
	}
	c := &a.chunks[n-1]
	ref = uint64(n-1)<<32 | uint64(len(*c))
	*c = binary.AppendUvarint(*c, uint64(len(id)))
	*c = append(*c, id...)
	return ref
}

// is reports whether the id at ref equals id.
func (a *arena) is(ref uint64, id string) bool {
	at := a.chunks[ref>>32][uint32(ref):]
	length, n := binary.Uvarint(at)
	return length == uint64(len(id)) && string(at[n:n+len(id)]) == id
}
