package node

import (
	"encoding/json"
	"maps"
	"math"
	"sync"

	"github.com/streamwatch/streamwatch/fleet"
)

// slack is the fraction of its share that a node may lack.
const slack = 0.01

// worth reports whether a grant should change from now to rate. A change of up to slack of the
// rate is too small to make. A surplus is given back if it is above that limit divided by the
// number of other nodes: one node may lack the surpluses of all others.
func worth(now, rate float64, others int) bool {
	if rate < now {
		return now-rate > slack*rate/float64(others)
	}
	return rate-now > slack*rate
}

// says is the message in Beat.Says from a node to the others.
type says struct {
	Demand  map[string]float64 `json:"demand,omitempty"`
	Targets map[string]float64 `json:"targets,omitempty"`
}

// readSays decodes the message of another node. It returns the zero value for a message that
// cannot be decoded.
func readSays(raw []byte) (s says) {
	if json.Unmarshal(raw, &s) != nil {
		return says{}
	}
	return s
}

// writeSays encodes this node's message to the others, for readSays.
func writeSays(budgets []Budget) []byte {
	s := says{Demand: map[string]float64{}}
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
		panic("node: " + err.Error()) // values of these types can always be encoded
	}
	return raw
}

// amount returns v, or 0 if v is not a finite number above 0.
func amount(v float64) float64 {
	if !(v > 0) || math.IsInf(v, 0) {
		return 0
	}
	return v
}

// grants holds the rates last passed to Host.Grant, by budget.
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

// reset sets all grants to 0, for a new term.
func (g *grants) reset(host Host) {
	g.mu.Lock()
	clear(g.now)
	g.mu.Unlock()
	for _, b := range host.Budgets() {
		g.set(host, b.Name, 0)
	}
}

// asks returns the rates that a beat asks for. If a rate is below the present one, asks calls
// Host.Grant before the beat: this node must use less before another node may use more.
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

// granted calls Host.Grant with the rates that the store has granted.
func (g *grants) granted(host Host, asks []fleet.Ask, granted map[string]float64) {
	for _, a := range asks {
		g.set(host, a.Budget, min(granted[a.Budget], a.Rate))
	}
}

// share returns the node's share of a budget, in proportion to its demand: see Budget.
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
	least := 0.0 // the fleet's mean demand per target
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
