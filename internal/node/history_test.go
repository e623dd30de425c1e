package node_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/testsize"
)

// Whatever happens, no part is polled by two nodes that trust their terms, and no rate
// is used twice; no node is ended that could beat; and when all is calm all parts are
// polled, evenly, and by passive nodes only if there are no others, and all the rate is used.
func TestHistories(t *testing.T) {
	for seed := range uint64(testsize.Of(15, 50, 600)) {
		inWorld(t, func(t *testing.T, w *world) {
			rng := rand.New(rand.NewPCG(seed, 2))
			if rng.IntN(4) == 0 {
				w.lease = time.Duration(1000+rng.IntN(30_000)) * time.Millisecond
			}
			h := history{w: w, rng: rng, seed: seed, cut: map[*member]bool{}}
			for i := range 1 + rng.IntN(5) {
				h.start(fmt.Sprint("n", i))
			}
			for range 30 {
				h.event()
				if rng.IntN(3) > 0 {
					pass(time.Duration(rng.Int64N(int64(w.lease))))
				}
			}
			h.calm()
		})
	}
}

// history does things to a fleet.
type history struct {
	w    *world
	rng  *rand.Rand
	seed uint64
	cut  map[*member]bool // had no way to the store, alone
}

func (h *history) start(name string) {
	of := float64(1 + h.rng.IntN(2))
	if h.rng.IntN(3) == 0 {
		of *= passive
	}
	m := h.w.start(name, weight(of))
	m.host.lock(func() {
		m.host.giveFor = time.Duration(h.rng.Int64N(int64(h.w.lease / 8)))
		m.host.takeFor = time.Duration(h.rng.Int64N(int64(h.w.lease / 8)))
		m.host.demand = []float64{-1, 0, 10 * h.rng.Float64()}[h.rng.IntN(3)]
	})
}

func (h *history) event() {
	w, rng := h.w, h.rng
	name := fmt.Sprint("n", rng.IntN(6))
	m := w.nodes[name]
	states := []wireState{cut, hangs, frozen}
	switch what := rng.IntN(13); {
	case m == nil:
		h.start(name)
	case what < 2 && !h.cut[m]:
		m.leave()
	case what < 4:
		m.kill()
	case what < 7:
		h.cut[m] = true
		m.wire.set(states[rng.IntN(3)])
		go func(d time.Duration) {
			pass(d)
			m.wire.set(up)
		}(time.Duration(rng.Int64N(int64(3 * w.lease))))
	case what < 8: // all are cut off
		for _, m := range w.nodes {
			m.wire.outage(states[rng.IntN(3)])
		}
		pass(time.Duration(rng.Int64N(int64(3 * w.lease))))
		for _, m := range w.nodes {
			m.wire.outage(up)
		}
	case what < 10:
		w.ahead.Add(int64(time.Hour) * int64(rng.IntN(3)-1))
	case what < 12:
		m.wire.lock(func(l *wire) { l.lost = 1 + rng.IntN(3) })
	default:
		m.wire.lock(func(l *wire) { l.mute = !l.mute })
	}
	for name, m := range w.nodes {
		if m.lost() > 0 && !h.cut[m] {
			w.t.Errorf("seed %d: the term of %s was ended, which could beat", h.seed, name)
			h.cut[m] = true
		}
	}
}

func (h *history) calm() {
	w := h.w
	for _, m := range w.nodes {
		m.wire.set(up)
		m.wire.lock(func(l *wire) { l.lost, l.mute = 0, false })
	}
	if len(w.nodes) == 0 {
		h.start("n0")
	}
	pass(5 * w.lease)
	if _, nobody := w.owners(); nobody > 0 {
		w.t.Errorf("seed %d: when all is calm %d parts are of nobody", h.seed, nobody)
	}
	rates, sum := w.rates()
	if sum < 0.95*total {
		w.t.Errorf("seed %d: when all is calm %v of %v is used: %v", h.seed, sum, total, rates)
	}
	weights, active := 0.0, false
	for _, m := range w.nodes {
		weights += m.weight
		active = active || m.weight >= fleet.ActiveWeight
	}
	parts, _ := w.owners()
	for name, m := range w.nodes {
		most := int(1024*m.weight/weights) + 1
		if active && m.weight < fleet.ActiveWeight {
			most = 0
			if rates[name] > 0 {
				w.t.Errorf("seed %d: when all is calm %s is passive and has a rate of %v", h.seed, name, rates[name])
			}
		}
		if parts[name] > most {
			w.t.Errorf("seed %d: when all is calm %s has %d parts, want at most %d", h.seed, name, parts[name], most)
		}
	}
}
