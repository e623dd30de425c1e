package due

// chunkSize is the number of entries in a chunk: two cache lines.
const chunkSize = 16

// chunks stores the entries of all buckets in one array, in chunks of chunkSize. A bucket leaves
// less than one chunk unused. Chunk 0 is not used.
type chunks struct {
	words []uint64
	next  []uint32 // by chunk: the next chunk of the same bucket, or the next free chunk
	free  uint32   // the first free chunk, 0 if there is none
}

// bucket has n entries, in no order. chunk is its first chunk. All other chunks of the bucket are
// full.
type bucket struct{ n, chunk uint32 }

// push adds e to b, and returns its index in words.
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

// cut removes the word at i from b. It moves the last word of b, which may be the same, to i and
// returns it.
func (c *chunks) cut(b *bucket, i int) (moved uint64) {
	moved = c.words[b.chunk*chunkSize+(b.n-1)%chunkSize]
	c.words[i] = moved
	if b.n--; b.n%chunkSize == 0 {
		c.release(b)
	}
	return moved
}

// pop removes the entries of b's first chunk, and returns their number.
func (c *chunks) pop(b *bucket, entries *[chunkSize]uint64) int {
	n := (b.n-1)%chunkSize + 1
	copy(entries[:n], c.words[b.chunk*chunkSize:])
	b.n -= n
	c.release(b)
	return int(n)
}

// alloc returns a free chunk.
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
