package feed

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// Memory stores the known entries of feeds for the next process. Calls are concurrent,
// but never for the same feed.
type Memory interface {
	// Load returns the state last saved for a feed, or nil if there is none.
	Load(ctx context.Context, feed string) ([]byte, error)
	// Save stores the state of a feed, about 100 bytes per entry. feed has 16 lower-case
	// letters and digits. If Save fails, the poll of the feed fails too, and is repeated.
	Save(ctx context.Context, feed string, state []byte) error
}

const (
	minKnown = 256 // smallest number of entries kept for a feed
	maxKnown = 4 * maxEntries
)

// memory has the known entries of a feed.
type memory struct {
	Format int      `json:"format"`
	Read   int      `json:"read"` // number of reads of a changed document; 0 for a new feed
	Known  []*known `json:"known"`

	dirty bool // changed since it was saved
}

// known is an entry that has appeared in a feed.
type known struct {
	ID   string `json:"id"`
	At   int64  `json:"at"`          // time of publication, in Unix milliseconds
	Page uint64 `json:"p,omitempty"` // hash of its latest link and text; 0 without a link
	Seen int    `json:"s"`           // memory.Read when it was last in the document
}

// memoryFormat is the value of Format that this version reads and writes.
const memoryFormat = 1

// loadMemory parses a saved state. It returns an error for a state in another format. Otherwise
// the feed would count as never read.
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

// show records that an entry is in the document.
func (m *memory) show(k *known, page uint64) {
	k.Seen = m.Read
	if k.Page != page {
		k.Page, m.dirty = page, true
	}
}

// forget removes entries until at most most are left. It first removes those that have been
// missing from the document for the longest time.
func (m *memory) forget(most int) {
	if len(m.Known) <= most {
		return
	}
	slices.SortStableFunc(m.Known, func(a, b *known) int { return cmp.Compare(b.Seen, a.Seen) })
	m.Known = slices.Clip(m.Known[:most])
	m.dirty = true
}
