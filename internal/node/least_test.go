package node

import (
	"math"
	"testing"
)

// A node whose targets are not known to be busy gets enough to find out: each counts as
// much as the mean of all.
func TestShareHasAFloor(t *testing.T) {
	busy := says{Demand: map[string]float64{"b": 990}, Targets: map[string]float64{"b": 50}}
	quiet := Budget{Name: "b", Total: 100, Demand: 10, Targets: 50}
	floor := 1000. / 100 * 50
	if got, want := share(quiet, []says{busy}), 100*floor/(990+floor); math.Abs(got-want) > 1e-9 {
		t.Errorf("share %v, want %v", got, want)
	}
	loud := Budget{Name: "b", Total: 100, Demand: 990, Targets: 50}
	rest := says{Demand: map[string]float64{"b": 10}, Targets: map[string]float64{"b": 50}}
	if sum := share(quiet, []says{busy}) + share(loud, []says{rest}); math.Abs(sum-100) > 1e-9 {
		t.Errorf("the shares are %v together, want 100", sum)
	}
	quiet.Targets, busy.Targets = 0, nil
	if got := share(quiet, []says{busy}); math.Abs(got-1) > 1e-9 {
		t.Errorf("share %v by demand alone, want 1", got)
	}
}
