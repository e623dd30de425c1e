package seen

import (
	"encoding/binary"
	"strings"
)

// Windows stores the windows of many accounts. Accounts are numbers that count from 0 and should
// be dense. The zero value has an empty window for every number. Blocks store many windows each,
// without pointers, so a million windows cost the garbage collector very little. A window takes 4
// bytes. A window that is not empty also takes 6 bytes and its own bytes, rounded up to a
// multiple of 4. Up to an eighth of the memory, or 128 KB, is unused.
//
// Windows is not safe for concurrent use. A Window that At returned is independent: other
// goroutines may use it and its Polls while Windows changes.
type Windows struct {
	refs   []*[refChunk]uint32
	blocks []block
	free   []uint32        // numbers of empty blocks
	filled strings.Builder // contents of the block that is being filled
	into   uint32          // number of that block, 0 if there is none
	large  map[int]Window  // windows that are too large for blocks

	used    int // bytes of all entries
	garbage int // bytes of entries that no account uses any more
}

// block is a sequence of entries. An entry has padding, the window, the size of the window (2
// bytes) and the account (4 bytes). The padding makes the end of the entry a multiple of 4. An
// entry is decoded from its end, next to the window's trailer. Written bytes never change, so
// strings of them stay valid.
type block struct {
	data string
	live int // bytes of the entries in use
}

// A reference is the number of a block, and the position of an entry's end in the block in units
// of 4 bytes, minus 1. 0 means an empty window, because there is no block 0.
const (
	refChunk   = 1024
	entryTail  = 2 + 4
	entryUnit  = 4
	blockSize  = 1 << 16
	blockUnits = blockSize / entryUnit
	inLarge    = 1<<32 - 1 // the window is in large; no entry has this reference
	// A window larger than largest would leave too much of a block empty.
	largest = blockSize / 16
)

func (ws *Windows) ref(i int) *uint32 {
	for i >= len(ws.refs)*refChunk {
		ws.refs = append(ws.refs, new([refChunk]uint32))
	}
	return &ws.refs[i/refChunk][i%refChunk]
}

// At returns the window of account i.
func (ws *Windows) At(i int) Window {
	if i >= len(ws.refs)*refChunk {
		return Window{}
	}
	switch ref := ws.refs[i/refChunk][i%refChunk]; ref {
	case 0:
		return Window{}
	case inLarge:
		return ws.large[i]
	default:
		_, w, _ := readEntry(ws.blocks[ref/blockUnits].data, int(ref%blockUnits+1)*entryUnit)
		return w
	}
}

// readEntry reads the entry that ends at end. begin is where the entry begins.
func readEntry(data string, end int) (account int, w Window, begin int) {
	tail := load64(data, end-8) >> 16
	size := int(uint16(tail))
	begin = end - entryTail - size
	return int(tail >> 16), Window{data[begin : begin+size]}, begin / entryUnit * entryUnit
}

// Set makes w the window of account i. It does nothing if the account has the same window
// already.
func (ws *Windows) Set(i int, w Window) {
	if ws.At(i).data == w.data {
		return
	}
	ref := ws.ref(i)
	switch *ref {
	case 0:
	case inLarge:
		delete(ws.large, i)
	default:
		ws.drop(*ref)
	}
	*ref = 0
	if w.data != "" {
		*ref = ws.put(i, w)
	}
	if ws.garbage > 2*blockSize && ws.garbage > ws.used/8 {
		ws.move(ws.emptiest())
	}
}

// drop frees an entry. It also frees the block if no other entry of the block is in use.
func (ws *Windows) drop(ref uint32) {
	b, end := ref/blockUnits, int(ref%blockUnits+1)*entryUnit
	_, _, begin := readEntry(ws.blocks[b].data, end)
	ws.blocks[b].live -= end - begin
	ws.garbage += end - begin
	if ws.blocks[b].live == 0 && b != ws.into {
		ws.clear(b)
	}
}

// clear frees a block that has no entries in use.
func (ws *Windows) clear(b uint32) {
	n := len(ws.blocks[b].data)
	ws.used -= n
	ws.garbage -= n
	ws.blocks[b] = block{}
	ws.free = append(ws.free, b)
}

// put writes an entry and returns its reference.
func (ws *Windows) put(i int, w Window) uint32 {
	size := len(w.data) + entryTail
	pad := -size & (entryUnit - 1)
	size += pad
	if size > largest {
		if ws.large == nil {
			ws.large = make(map[int]Window)
		}
		ws.large[i] = w
		return inLarge
	}
	ws.makeRoom(size)
	var zero [entryUnit]byte
	ws.filled.Write(zero[:pad])
	ws.filled.WriteString(w.data)
	var tail [entryTail]byte
	binary.LittleEndian.PutUint16(tail[:], uint16(len(w.data)))
	binary.LittleEndian.PutUint32(tail[2:], uint32(i))
	ws.filled.Write(tail[:])
	b := &ws.blocks[ws.into]
	b.data = ws.filled.String()
	b.live += size
	ws.used += size
	return ws.into*blockUnits + uint32(len(b.data)/entryUnit) - 1
}

// makeRoom makes room for an entry of size bytes in the block that is being filled. If necessary,
// it begins a new block.
func (ws *Windows) makeRoom(size int) {
	if ws.into != 0 && ws.filled.Len()+size <= blockSize {
		return
	}
	full := ws.into
	if last := len(ws.free) - 1; last >= 0 {
		ws.into, ws.free = ws.free[last], ws.free[:last]
	} else { // a process never has 2^18 blocks of 64 KiB
		ws.into = uint32(max(1, len(ws.blocks)))
		ws.blocks = append(ws.blocks, make([]block, int(ws.into)+1-len(ws.blocks))...)
	}
	ws.filled.Reset()
	ws.filled.Grow(blockSize) // so the buffer never moves, and strings of it stay valid
	if full != 0 && ws.blocks[full].live == 0 {
		ws.clear(full)
	}
}

// emptiest returns the full block with the fewest bytes in use.
func (ws *Windows) emptiest() uint32 {
	var least uint32
	for b := range ws.blocks {
		if ws.blocks[b].data != "" && uint32(b) != ws.into && (least == 0 || ws.blocks[b].live < ws.blocks[least].live) {
			least = uint32(b)
		}
	}
	return least
}

// move copies the entries in use of a block to the block that is being filled, and frees the
// first block.
func (ws *Windows) move(b uint32) {
	data := ws.blocks[b].data
	for end := len(data); end > 0; {
		account, w, begin := readEntry(data, end)
		if ref := ws.ref(account); *ref == b*blockUnits+uint32(end/entryUnit)-1 {
			*ref = ws.put(account, w)
			ws.garbage += end - begin
		}
		end = begin
	}
	ws.blocks[b].live = 0
	ws.clear(b)
}
