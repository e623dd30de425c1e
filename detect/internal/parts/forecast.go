package parts

import (
	"math"
	"time"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// Groups returns the groups for a forecast of the whole fleet: own, the groups of this node's
// accounts, plus the accounts of other nodes. Parts do not depend on rates, so Groups assumes that
// accounts of other nodes post as often as those of this node. If this node has no accounts, it
// assumes the rate unknown, in posts per second. Under a budget, where rates decide, each group of
// own grows in proportion.
func (x *Elsewhere) Groups(own []pace.Group, budgeted bool, unknown float64) []pace.Group {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.n == 0 {
		return own
	}
	accounts, rate := 0, 0.0
	for _, g := range own {
		accounts += g.Accounts
		rate += float64(g.Accounts) * g.Rate
	}
	if budgeted && accounts > 0 {
		return scaled(own, float64(accounts+x.n)/float64(accounts))
	}
	if accounts > 0 {
		unknown = rate / float64(accounts)
	}
	counts := map[time.Duration]int{}
	for at, of := range x.of {
		if x.keys[at] != 0 {
			counts[x.wants(of, nil).Shortest]++
		}
	}
	for interval, n := range counts {
		own = append(own, pace.Group{Accounts: n, Rate: unknown, Interval: interval})
	}
	return own
}

// scaled multiplies the numbers of accounts of groups. It rounds such that the error of their sum
// is less than one account.
func scaled(groups []pace.Group, by float64) []pace.Group {
	var want, have float64
	for i := range groups {
		g := &groups[i]
		want += float64(g.Accounts) * by
		g.Accounts = int(math.Round(want - have))
		have += float64(g.Accounts)
	}
	return groups
}
