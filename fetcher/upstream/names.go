package upstream

import (
	"strings"
	"sync"
	"time"
)

const (
	// namesFor is how long ids are remembered. It is short because an account may be renamed
	// and another account may then take the old name.
	namesFor = time.Hour
	// maxNames is the largest number of names remembered. When it is reached, all names are
	// dropped.
	maxNames = 100_000
)

// Names remembers the id of each account name for up to an hour. It ignores the case of names.
// It is safe for concurrent use.
type Names struct {
	now func() time.Time

	mu    sync.Mutex
	ids   map[string]string // by name in lower case
	since time.Time         // when ID last emptied ids
}

// NewNames returns an empty Names that reads the time from now.
func NewNames(now func() time.Time) *Names { return &Names{now: now, ids: map[string]string{}} }

// ID returns the id that was set for a name, or "" if none is remembered.
func (n *Names) ID(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.now(); now.Sub(n.since) >= namesFor {
		clear(n.ids)
		n.since = now
	}
	return n.ids[strings.ToLower(name)]
}

// Set stores the id of the account with that name.
func (n *Names) Set(name, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ids) >= maxNames {
		clear(n.ids)
	}
	n.ids[strings.ToLower(name)] = id
}
