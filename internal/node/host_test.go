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
	node *node.Node

	own     fleet.Set
	held    bool
	dead    bool
	twin    bool    // another one has its name: both may believe to have the parts until it hears of it
	demand  float64 // below 0: one for each part
	grants  map[string]float64
	applied []uint64
	signals []fleet.Signal
	epochs  []uint64
	begun   int  // parts that were taken
	read    bool // all records, in this term
	gives   int  // calls
	most    int  // parts of a call
	losses  int
	rereads int
	refuse  error // of Apply, Take and Give
	applyIn time.Duration
	giveFor time.Duration
	takeFor time.Duration
	readFor time.Duration
}

func (h *host) acts() bool { return !h.held && !h.dead }

// follows is the change that the node follows, if it matters yet.
func (h *host) follows() uint64 {
	if h.w.passed == 0 {
		return 0
	}
	return h.node.State().Applied
}

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
		if !h.read {
			h.w.t.Errorf("%s takes parts before it follows all records", h.name)
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
	h.lock(func() { h.own, h.read = fleet.Set{}, false; h.losses++ })
}

func (h *host) Apply(ctx context.Context, changes []fleet.Change) (err error) {
	if err := wait(ctx, h.applyIn); err != nil {
		return err
	}
	h.lock(func() {
		if err = h.refuse; err != nil {
			return
		}
		for _, c := range changes {
			if n := len(h.applied); n > 0 && c.N <= h.applied[n-1] {
				h.w.t.Errorf("%s follows %d after %d", h.name, c.N, h.applied[n-1])
			}
			h.applied = append(h.applied, c.N)
		}
	})
	return err
}

func (h *host) Reread(ctx context.Context) error {
	h.lock(func() { h.rereads++ })
	if err := wait(ctx, h.readFor); err != nil {
		return err
	}
	h.lock(func() { h.read = true })
	return nil
}

func (h *host) Hold(hold bool)            { h.lock(func() { h.held = hold }) }
func (h *host) Signal(s fleet.Signal)     { h.lock(func() { h.signals = append(h.signals, s) }) }
func (h *host) Epoch(epoch uint64)        { h.lock(func() { h.epochs = append(h.epochs, epoch) }) }
func (h *host) Grant(b string, r float64) { h.lock(func() { h.grants[b] = r }) }

func (h *host) Budgets() []node.Budget {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	b := node.Budget{Name: "calls", Total: total, Demand: h.demand}
	if h.demand < 0 {
		b.Demand = float64(h.own.Len())
	}
	return []node.Budget{b}
}
