package accounts

// dense is an array by slot that grows in chunks. Its elements never move, so that
// growth copies nothing and pointers to them stay valid.
type dense[T any] struct{ chunks []*[chunkSize]T }

const chunkSize = 1024

// at returns the slot's element. The array grows as needed.
func (a *dense[T]) at(slot int32) *T {
	for int(slot) >= len(a.chunks)*chunkSize {
		a.chunks = append(a.chunks, new([chunkSize]T))
	}
	return &a.chunks[slot/chunkSize][slot%chunkSize]
}
