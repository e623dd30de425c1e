package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Memory keeps what a Fetcher knows of the entries that feeds have shown for the next
// process. Calls are concurrent, but never for the same feed.
type Memory interface {
	// Load returns what Save was given last for a feed, nil for one that it was never
	// called for.
	Load(ctx context.Context, feed string) ([]byte, error)
	// Save keeps the state of a feed, some 100 bytes for each entry. The name has 16
	// lower-case letters and digits. When Save fails, the read fails, too, and is made
	// again.
	Save(ctx context.Context, feed string, state []byte) error
}

const (
	minKnown = 256 // entries of a feed that are remembered at least
	maxKnown = 4 * maxEntries
)

// memory is what a feed has shown.
type memory struct {
	Format int      `json:"format"`
	Read   int      `json:"read"` // how often it was read and had changed; 0 is never
	Known  []*known `json:"known"`

	dirty bool // there is something to save
}

// known is an entry that a feed has shown.
type known struct {
	ID   string `json:"id"`
	At   int64  `json:"at"`          // when it was published, in Unix milliseconds
	Page uint64 `json:"p,omitempty"` // a hash of its link and text, as it was shown last; 0 without a link
	Seen int    `json:"s"`           // the memory's Read when it was shown last
}

// memoryFormat is the one that this version writes.
const memoryFormat = 1

// loadMemory reads a state. One of another format is an error: it must not be taken for a
// feed that was never read.
func loadMemory(state []byte) (*memory, error) {
	m := &memory{Format: memoryFormat}
	if len(state) == 0 {
		return m, nil
	}
	if err := json.Unmarshal(state, m); err != nil {
		return nil, fmt.Errorf("feed: stored state of a feed cannot be read: %w", err)
	}
	if m.Format != memoryFormat {
		return nil, fmt.Errorf("feed: stored state of a feed has format %d: want %d", m.Format, memoryFormat)
	}
	m.Known = slices.DeleteFunc(m.Known, func(k *known) bool { return k == nil || k.ID == "" })
	return m, nil
}

func (m *memory) state() ([]byte, error) { return json.Marshal(m) }

func (k *known) at() time.Time { return time.UnixMilli(k.At).UTC() }

// show notes that an entry is shown.
func (m *memory) show(k *known, page uint64) {
	k.Seen = m.Read
	if k.Page != page {
		k.Page, m.dirty = page, true
	}
}

// forget drops the entries beyond a number that were not shown for the longest time.
func (m *memory) forget(most int) {
	if len(m.Known) <= most {
		return
	}
	slices.SortStableFunc(m.Known, func(a, b *known) int { return cmp.Compare(b.Seen, a.Seen) })
	m.Known = slices.Clip(m.Known[:most])
	m.dirty = true
}
