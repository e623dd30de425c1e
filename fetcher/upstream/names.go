package upstream

import (
	"strings"
	"sync"
	"time"
)

const (
	// namesFor is how long ids are remembered: a name may be given to another account
	// while the one that had it goes on under another name.
	namesFor = time.Hour
	// maxNames bounds the names that are remembered; at the bound all are dropped.
	maxNames = 100_000
)

// Names remembers which account has a name, in any case, for up to an hour. It is safe
// for concurrent use.
type Names struct {
	now func() time.Time

	mu    sync.Mutex
	ids   map[string]string // by name in lower case
	since time.Time         // when ids was empty
}

// NewNames returns a Names that knows nobody.
func NewNames(now func() time.Time) *Names { return &Names{now: now, ids: map[string]string{}} }

// ID returns the id that was set for a name, "" where it has to be looked up.
func (n *Names) ID(name string) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if now := n.now(); now.Sub(n.since) >= namesFor {
		clear(n.ids)
		n.since = now
	}
	return n.ids[strings.ToLower(name)]
}

// Set notes who has a name.
func (n *Names) Set(name, id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.ids) >= maxNames {
		clear(n.ids)
	}
	n.ids[strings.ToLower(name)] = id
}
