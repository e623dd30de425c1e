package shards

import (
	"sync"
	"sync/atomic"
)

// Gate stops new polls, probes and searches until a given time, and while Hold is in force. All
// shards share it. The zero value is open.
type Gate struct {
	until atomic.Int64 // on the detector's clock; longSleep while it is held

	mu   sync.Mutex
	from int64
	held bool
}

// From closes the gate until a time of the detector's clock; 0 opens it. changed is false if the
// gate already had that time.
func (g *Gate) From(at int64) (changed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	changed = g.from != at
	g.from = at
	g.set()
	return changed
}

// Hold(true) closes the gate until Hold(false) is called.
func (g *Gate) Hold(held bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.held = held
	g.set()
}

func (g *Gate) set() {
	if g.held {
		g.until.Store(longSleep)
	} else {
		g.until.Store(g.from)
	}
}
