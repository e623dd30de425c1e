package node_test

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/node"
)

// host is an engine that does nothing but note what it has. Its fields are guarded by
// the world's mutex.
type host struct {
	w    *world
	name string

	own     fleet.Set
	held    bool
	dead    bool
	twin    bool    // another one has its name: both may believe to have the parts until it hears of it
	demand  float64 // below 0: one for each part
	targets float64
	grants  map[string]float64
	signals []fleet.Signal
	epochs  []uint64
	begun   int // parts that were taken
	gives   int // calls
	most    int // parts of a call
	losses  int
	refuse  error // of Take and Give
	giveFor time.Duration
	takeFor time.Duration
}

func (h *host) acts() bool { return !h.held && !h.dead }

// lock is for what changes something that two nodes may not have at once.
func (h *host) lock(f func()) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	f()
	h.w.check()
}

func (h *host) die() { h.lock(func() { h.dead, h.own = true, fleet.Set{} }) }

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (h *host) Take(ctx context.Context, own, taken fleet.Set) (err error) {
	h.lock(func() {
		if h.dead {
			return
		}
		if own != h.own.Plus(taken) {
			h.w.t.Errorf("%s: Take of %v with %v, had %v", h.name, taken, own, h.own)
		}
		h.most = max(h.most, taken.Len())
		fresh := taken.Minus(h.own)
		h.begun += fresh.Len()
		h.own, err = own, h.refuse
	})
	if err != nil {
		return err
	}
	return wait(ctx, h.takeFor)
}

func (h *host) Give(ctx context.Context, own, given fleet.Set) (err error) {
	h.lock(func() {
		if !h.dead && (own.Plus(given) != h.own || own.And(given) != fleet.Set{}) {
			h.w.t.Errorf("%s: Give of %v with %v, had %v", h.name, given, own, h.own)
		}
		h.gives++
		h.most = max(h.most, given.Len())
		err = h.refuse
	})
	if err == nil {
		err = wait(ctx, h.giveFor)
	}
	if err == nil {
		h.lock(func() { h.own = own })
	}
	return err
}

func (h *host) Lost() {
	h.lock(func() { h.own = fleet.Set{}; h.losses++ })
}

func (h *host) Hold(hold bool)            { h.lock(func() { h.held = hold }) }
func (h *host) Signal(s fleet.Signal)     { h.lock(func() { h.signals = append(h.signals, s) }) }
func (h *host) Epoch(epoch uint64)        { h.lock(func() { h.epochs = append(h.epochs, epoch) }) }
func (h *host) Grant(b string, r float64) { h.lock(func() { h.grants[b] = r }) }

func (h *host) Budgets() []node.Budget {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	b := node.Budget{Name: "calls", Total: total, Demand: h.demand, Targets: h.targets}
	if h.demand < 0 {
		b.Demand = float64(h.own.Len())
	}
	return []node.Budget{b}
}
