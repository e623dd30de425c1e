package xapi

import (
	"sync"
	"time"
)

// bounds remembers of each account and query what it was read up to. It is safe for
// concurrent use; at its bound all is dropped, which costs an audit each.
type bounds struct {
	most int

	mu sync.Mutex
	by map[string]bound
}

// bound is what is remembered of an account.
type bound struct {
	newest  string    // id of the newest post of the last read that ended
	audited time.Time // when the last audit began
	from    time.Time // what posts the next audit has to look for: since when
}

func newBounds(most int) *bounds { return &bounds{most: most, by: map[string]bound{}} }

func (b *bounds) of(key string) bound {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.by[key]
}

// set changes what is remembered of an account.
func (b *bounds) set(key string, change func(*bound)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v, ok := b.by[key]
	if !ok && len(b.by) >= b.most {
		clear(b.by)
	}
	change(&v)
	b.by[key] = v
}
