package due

// chunkSize is how many entries a chunk has: two cache lines.
const chunkSize = 16

// chunks are where buckets have their entries: all in one array, in runs of
// chunkSize, so that a bucket has less than one run to spare, and reading it is
// not a chase from entry to entry. Chunk 0 is not used.
type chunks struct {
	words []uint64
	next  []uint32 // by chunk: of the same bucket, or of the free ones
	free  uint32   // the first of those, 0 for none
}

// bucket is entries in no order. All its chunks but the first are full.
type bucket struct{ n, chunk uint32 }

// push adds e to b, and says at which word.
func (c *chunks) push(b *bucket, e uint64) int {
	in := b.n % chunkSize
	if in == 0 {
		at := c.alloc()
		c.next[at], b.chunk = b.chunk, at
	}
	b.n++
	i := int(b.chunk*chunkSize + in)
	c.words[i] = e
	return i
}

// cut takes the word at i out of b. The last of b, which may be that itself,
// takes its place.
func (c *chunks) cut(b *bucket, i int) (moved uint64) {
	moved = c.words[b.chunk*chunkSize+(b.n-1)%chunkSize]
	c.words[i] = moved
	if b.n--; b.n%chunkSize == 0 {
		c.release(b)
	}
	return moved
}

// pop takes all of the first chunk out of b, and says how many they are.
func (c *chunks) pop(b *bucket, entries *[chunkSize]uint64) int {
	n := (b.n-1)%chunkSize + 1
	copy(entries[:n], c.words[b.chunk*chunkSize:])
	b.n -= n
	c.release(b)
	return int(n)
}

// alloc is a chunk that is free.
func (c *chunks) alloc() uint32 {
	at := c.free
	if at != 0 {
		c.free = c.next[at]
		return at
	}
	at = max(1, uint32(len(c.next)))
	c.next = grow(c.next, int(at)+1)
	c.words = grow(c.words, int(at+1)*chunkSize)
	return at
}

// release frees the first chunk of b.
func (c *chunks) release(b *bucket) {
	at := b.chunk
	b.chunk, c.next[at] = c.next[at], c.free
	c.free = at
}
