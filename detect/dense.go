package detect

import "github.com/streamwatch/streamwatch/detect/huge"

// dense is an array by slot that grows in chunks: what is in it never moves,
// so that growth copies nothing, and pointers into it stay good.
type dense[T any] struct{ chunks []*[chunkSize]T }

const chunkSize = 1024

// manyChunks is from how many on they are worth huge pages: 1 or 2 MB.
const manyChunks = 64

// at is the slot's element; the array grows up to it.
func (a *dense[T]) at(slot int32) *T {
	for int(slot) >= len(a.chunks)*chunkSize {
		c := new([chunkSize]T)
		if len(a.chunks) >= manyChunks {
			huge.Slice(c[:])
		}
		a.chunks = append(a.chunks, c)
	}
	return &a.chunks[slot/chunkSize][slot%chunkSize]
}
