package node

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"sync"

	"github.com/streamwatch/streamwatch/fleet"
)

// slack is the part of its share that a node may lack.
const slack = 0.01

// worth reports whether a grant of now is to be changed to rate: small differences are left
// alone. A node may keep less too much the more other nodes there are, because what they all
// keep too much one node may lack.
func worth(now, rate float64, others int) bool {
	if rate < now {
		return now-rate > slack*rate/float64(others)
	}
	return rate-now > slack*rate
}

// says is what the nodes tell each other in Beat.Says.
type says struct {
	// Reads says that the node has not read all records yet. It has no parts before it
	// says otherwise.
	Reads   bool               `json:"reads,omitempty"`
	Demand  map[string]float64 `json:"demand,omitempty"`
	Targets map[string]float64 `json:"targets,omitempty"`
}

// readSays decodes what another node says. What cannot be decoded says nothing; a node that has
// not said anything yet has just joined.
func readSays(raw []byte) (s says) {
	if len(raw) == 0 {
		return says{Reads: true}
	}
	if json.Unmarshal(raw, &s) != nil {
		return says{}
	}
	return s
}

// writeSays encodes what this node tells the others, for readSays.
func writeSays(budgets []Budget, reads bool) []byte {
	s := says{Reads: reads, Demand: map[string]float64{}}
	for _, b := range budgets {
		s.Demand[b.Name] = amount(b.Demand)
		if n := amount(b.Targets); n > 0 {
			if s.Targets == nil {
				s.Targets = map[string]float64{}
			}
			s.Targets[b.Name] = n
		}
	}
	raw, err := json.Marshal(s)
	if err != nil {
		panic("node: " + err.Error()) // no value of these types is refused
	}
	return raw
}

// amount returns a rate or a demand, 0 for one that is not a finite number above 0.
func amount(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// grants holds the rates that the Host was told.
type grants struct {
	mu  sync.Mutex
	now map[string]float64
}

func (g *grants) all() map[string]float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return maps.Clone(g.now)
}

func (g *grants) of(budget string) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.now[budget]
}

func (g *grants) set(host Host, budget string, rate float64) {
	g.mu.Lock()
	was, known := g.now[budget]
	g.now[budget] = rate
	g.mu.Unlock()
	if !known || was != rate {
		host.Grant(budget, rate)
	}
}

// reset begins a term: nothing is granted.
func (g *grants) reset(host Host) {
	g.mu.Lock()
	clear(g.now)
	g.mu.Unlock()
	for _, b := range host.Budgets() {
		g.set(host, b.Name, 0)
	}
}

// asks returns what a beat asks for. A rate below the present one is set at the Host first, so
// that this node uses less before another one may use more.
func (g *grants) asks(host Host, budgets []Budget, others []says) []fleet.Ask {
	asks := make([]fleet.Ask, len(budgets))
	for i, b := range budgets {
		now := g.of(b.Name)
		rate := share(b, others)
		if len(others) > 0 && now <= amount(b.Total) && !worth(now, rate, len(others)) {
			rate = now
		}
		if rate < now {
			g.set(host, b.Name, rate)
		}
		asks[i] = fleet.Ask{Budget: b.Name, Total: amount(b.Total), Rate: rate}
	}
	return asks
}

// granted tells the Host what the store has granted.
func (g *grants) granted(host Host, asks []fleet.Ask, granted map[string]float64) {
	for _, a := range asks {
		g.set(host, a.Budget, min(granted[a.Budget], a.Rate))
	}
}

// short reports whether the node has less than half of its share of a budget: the others should
// know before their next beats.
func (g *grants) short(budgets []Budget, others []says) bool {
	return slices.ContainsFunc(budgets, func(b Budget) bool { return g.of(b.Name) < share(b, others)/2 })
}

// above reports whether the node has so much more than its share of a budget that it is to give
// some up.
func (g *grants) above(budgets []Budget, others []says) bool {
	return slices.ContainsFunc(budgets, func(b Budget) bool {
		now, rate := g.of(b.Name), share(b, others)
		return rate < now && len(others) > 0 && worth(now, rate, len(others))
	})
}

// share is the node's part of a budget, by its demand.
func share(b Budget, others []says) float64 {
	sum, targets, of := amount(b.Demand), amount(b.Targets), 1.0
	for _, s := range others {
		if d, ok := s.Demand[b.Name]; ok {
			sum += amount(d)
			targets += amount(s.Targets[b.Name])
			of++
		}
	}
	if sum == 0 || math.IsInf(sum, 0) {
		return amount(b.Total) / of
	}
	least := 0.0 // for each target
	if targets > 0 {
		least = sum / targets
	}
	own := max(amount(b.Demand), least*amount(b.Targets))
	all := own
	for _, s := range others {
		if d, ok := s.Demand[b.Name]; ok {
			all += max(amount(d), least*amount(s.Targets[b.Name]))
		}
	}
	return amount(b.Total) * (own / all)
}
