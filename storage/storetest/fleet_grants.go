package storetest

import (
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/streamwatch/streamwatch/fleet"
)

// grantCases test the budgets that a fleet shares.
func grantCases() []storeCase {
	ask := func(budget string, total, rate float64) fleet.Ask {
		return fleet.Ask{Budget: budget, Total: total, Rate: rate}
	}
	type step struct {
		node string // a, b or c; it joins first if necessary
		asks []fleet.Ask
		want string
	}
	var cases []storeCase
	for _, row := range []struct {
		name  string
		steps []step
	}{
		{"what the others leave is granted", []step{
			{"a", []fleet.Ask{ask("x", 10, 7)}, "x=7"},
			{"b", []fleet.Ask{ask("x", 10, 7)}, "x=3"},
			{"c", []fleet.Ask{ask("x", 10, 7)}, "x=0"},
		}},
		{"a node's own grant does not count against it", []step{
			{"a", []fleet.Ask{ask("x", 10, 7)}, "x=7"},
			{"a", []fleet.Ask{ask("x", 10, 9)}, "x=9"},
			{"a", []fleet.Ask{ask("x", 10, 12)}, "x=10"},
		}},
		{"what one lowers another can have", []step{
			{"a", []fleet.Ask{ask("x", 10, 10)}, "x=10"},
			{"b", []fleet.Ask{ask("x", 10, 5)}, "x=0"},
			{"a", []fleet.Ask{ask("x", 10, 5)}, "x=5"},
			{"b", []fleet.Ask{ask("x", 10, 5)}, "x=5"},
			{"a", []fleet.Ask{ask("x", 10, 10)}, "x=5"},
		}},
		{"what is not asked for any more is free", []step{
			{"a", []fleet.Ask{ask("x", 10, 10), ask("y", 3, 2)}, "x=10 y=2"},
			{"a", []fleet.Ask{ask("y", 3, 1)}, "y=1"},
			{"b", []fleet.Ask{ask("x", 10, 4), ask("y", 3, 3)}, "x=4 y=2"},
			{"a", nil, ""},
			{"b", []fleet.Ask{ask("x", 10, 10), ask("y", 3, 3)}, "x=10 y=3"},
		}},
		{"no grant is below zero", []step{
			{"a", []fleet.Ask{ask("x", 10, 10)}, "x=10"},
			{"b", []fleet.Ask{ask("x", 4, 4)}, "x=0"},
			{"c", []fleet.Ask{ask("x", 10, -4)}, "x=0"},
		}},
		{"budgets do not run into each other", []step{
			{"a", []fleet.Ask{ask("a", 10, 10), ask("a:b", 10, 9), ask("a\x00b", 10, 8), ask("", 10, 7), ask("ż %s", 10, 6.25)}, "=7 a\x00b=8 a:b=9 a=10 ż %s=6.25"},
			{"b", []fleet.Ask{ask("a", 10, 10), ask("a:b", 10, 10), ask("a\x00b", 10, 10), ask("", 10, 10), ask("ż %s", 10, 10)}, "=3 a\x00b=2 a:b=1 a=0 ż %s=3.75"},
		}},
		{"grants are exact fractions", []step{
			{"a", []fleet.Ask{ask("x", 1.0/3, 0.1)}, "x=0.1"},
			{"b", []fleet.Ask{ask("x", 1e-9, 1e-12), ask("y", 1e15, 1e15)}, "x=0 y=1e+15"},
		}},
	} {
		cases = append(cases, onFleet(row.name, func(t *fleetTest) {
			nodes := map[string]*node{}
			for i, s := range row.steps {
				if nodes[s.node] == nil {
					nodes[s.node] = t.join(s.node, longLease)
				}
				n := nodes[s.node].beat(asks(s.asks...))
				expect(t.storeTest, grantsOf(n.Grants), s.want, "%s: the grants of beat %d, %s's", row.name, i+1, s.node)
				expect(t.storeTest, grantsOf(t.member(s.node).Grants), s.want, "%s: the grants that others see after beat %d, %s's", row.name, i+1, s.node)
			}
		}))
	}
	return append(cases, onFleet("the grants of nodes that beat at once never sum up to more than there is", twice(raceGrants)))
}

// raceGrants runs six nodes that ask for shares of a budget. Each uses its grant, and uses less
// before it asks for less.
func raceGrants(one, two *fleetTest) {
	const nodes, beats, total = 6, 40, 100
	var mu sync.Mutex
	used, top := make([]float64, nodes), 0.0
	use := func(i int, rate float64) {
		mu.Lock()
		defer mu.Unlock()
		used[i] = rate
		sum := 0.0
		for _, u := range used {
			sum += u
		}
		if top = max(top, sum); sum > total+1e-6 {
			one.Errorf("nodes were granted %g of a budget of %d at the same time", sum, total)
		}
	}
	var wg sync.WaitGroup
	for i := range nodes {
		n := []*fleetTest{one, two}[i%2].join(fmt.Sprint("node ", i), longLease)
		wg.Go(func() {
			rnd := rand.New(rand.NewPCG(1, uint64(i)))
			for range beats {
				rate := float64(rnd.IntN(total))
				use(i, min(used[i], rate)) // only this goroutine writes used[i]
				if err := n.tryBeat(asks(fleet.Ask{Budget: "x", Total: total, Rate: rate})); err != nil {
					one.Errorf("Beat beside other beats failed: %v", err)
					return
				}
				use(i, n.Grants["x"])
			}
		})
	}
	wg.Wait()
	expect(one.storeTest, top > total/2, true, "nodes that ask for half of a budget on average never had half of it together")
}
