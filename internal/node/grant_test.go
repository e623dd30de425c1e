package node_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

// rates are the grants in use, and their sum.
func (w *world) rates() (rates map[string]float64, sum float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	rates = map[string]float64{}
	for _, h := range w.hosts {
		if h.acts() {
			rates[h.name] = h.grants["calls"]
			sum += h.grants["calls"]
		}
	}
	return rates, sum
}

func (w *world) demand(name string, v float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.nodes[name].host.demand = v
}

// That no more than all is used at any instant is checked by the world.
func TestGrants(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 4)
		for name, share := range map[string]float64{"n000": 10, "n001": 20, "n002": 30, "n003": 40} {
			w.demand(name, share)
		}
		pass(lease)
		near := func(want map[string]float64) {
			t.Helper()
			rates, sum := w.rates()
			for name, share := range want {
				if math.Abs(rates[name]-share) > share*0.02 {
					t.Errorf("the rates are %v, want %v", rates, want)
					break
				}
			}
			if sum < 0.95*total {
				t.Errorf("%v of %v is used", sum, total)
			}
		}
		near(map[string]float64{"n000": 10, "n001": 20, "n002": 30, "n003": 40})
		w.nodes["n003"].leave()
		pass(lease)
		near(map[string]float64{"n000": 100. / 6, "n001": 200. / 6, "n002": 50})
		w.nodes["n002"].kill()
		pass(3 * lease)
		near(map[string]float64{"n000": 100. / 3, "n001": 200. / 3})
		w.demand("n000", 0)
		pass(lease)
		near(map[string]float64{"n000": 0, "n001": 100})
		w.demand("n001", 0)
		pass(lease)
		near(map[string]float64{"n000": 50, "n001": 50})
		w.demand("n000", math.Inf(1))
		w.demand("n001", math.NaN())
		pass(lease)
		near(map[string]float64{"n000": 50, "n001": 50})
		// A node whose targets are not known to be busy gets enough to find out: each counts as much
		// as the mean of all.
		for name, demand := range map[string]float64{"n000": 10, "n001": 990} {
			w.demand(name, demand)
			w.nodes[name].host.lock(func() { w.nodes[name].host.targets = 50 })
		}
		pass(lease)
		near(map[string]float64{"n000": 100 * 500. / 1490, "n001": 100 * 990. / 1490})
		// One part more or less changes nothing.
		w.demand("n000", 1000)
		w.demand("n001", 1000)
		pass(lease)
		before, _ := w.rates()
		w.demand("n000", 1005)
		pass(lease)
		if after, _ := w.rates(); after["n000"] != before["n000"] || after["n001"] != before["n001"] {
			t.Errorf("the rates are %v, want %v as before: demands have changed by half a hundredth", after, before)
		}
	})
}

// A node that joins has no rate before the others have come down; then it comes soon.
func TestGrantToOneThatJoins(t *testing.T) {
	for _, n := range []int{1, 3, 20, 100}[:testsize.Of(3, 4, 4)] {
		inWorld(t, func(t *testing.T, w *world) {
			fleetOf(w, n)
			pass(3 * lease)
			w.start("joins")
			has := func(share float64) func() bool {
				return func() bool {
					rates, _ := w.rates()
					return rates["joins"] > share*total/float64(n+1)
				}
			}
			w.until(lease/2, "a third of its rate is there", has(1./3))
			w.until(8*time.Second, "its rate is there", has(0.95))
		})
	}
}

// A node whose rate falls has come down before another one may go up, though the answer
// that says so comes late: what is used in between is checked by the world.
func TestGrantComesDownFirst(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fleetOf(w, 2)
		w.demand("n000", 90)
		w.demand("n001", 10)
		pass(2 * lease)
		w.nodes["n000"].wire.lock(func(l *wire) { l.late = lease / 8 })
		w.demand("n000", 10)
		w.demand("n001", 90)
		w.until(lease, "the other one has come up", func() bool {
			rates, _ := w.rates()
			return rates["n001"] > 0.85*total
		})
	})
}

func TestGrantsAtRandom(t *testing.T) {
	for seed := range uint64(testsize.Of(8, 40, 600)) {
		inWorld(t, func(t *testing.T, w *world) {
			rng := rand.New(rand.NewPCG(seed, 1))
			for i := range 6 {
				w.start(fmt.Sprint("n", i))
			}
			for range 40 {
				name := fmt.Sprint("n", rng.IntN(8))
				switch m := w.nodes[name]; {
				case m == nil:
					w.start(name)
				case rng.IntN(8) == 0:
					m.leave()
				case rng.IntN(8) == 0:
					m.kill()
				default:
					w.demand(name, []float64{-1, 0, 1, 1000 * rng.Float64()}[rng.IntN(4)])
				}
				if len(w.nodes) == 0 {
					w.start("n0")
				}
				pass(time.Duration(rng.Int64N(int64(4 * time.Second))))
			}
			pass(3 * lease)
			if rates, sum := w.rates(); sum < 0.95*total {
				t.Errorf("seed %d: when all is calm %v of %v is used: %v", seed, sum, total, rates)
			}
		})
	}
}
