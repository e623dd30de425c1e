package node

import (
	"cmp"
	"slices"

	"github.com/streamwatch/streamwatch/fleet"
)

// atOnce is the most parts that a node gives or takes per beat.
const atOnce = fleet.Parts / 4

// shares divides all parts in proportion to weights. Each node gets its quota rounded down. The
// parts that are left go to the nodes with the largest remainders. Among equal remainders the
// first nodes get them. The shares add up to fleet.Parts, and no share exceeds its quota rounded
// up. A node of weight 0 gets none. When a node of equal weight joins, no other share grows.
func shares(weights []float64) []int {
	sum := 0.0
	for _, w := range weights {
		sum += w
	}
	shares := make([]int, len(weights))
	rest := make([]float64, len(weights))
	order := make([]int, len(weights))
	left := fleet.Parts
	for i, w := range weights {
		quota := fleet.Parts * (w / sum)
		shares[i] = int(quota)
		rest[i] = quota - float64(shares[i])
		order[i] = i
		left -= shares[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rest[b], rest[a]) })
	for _, i := range order[:min(max(left, 0), len(order))] {
		shares[i]++
	}
	return shares
}
