package accounts

import (
	"math"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// UnknownRate stands for that of accounts not polled yet: a post a day.
const UnknownRate = 1.0 / 86_400

// Groups counts the accounts from a slot on, n slots at most, by what matters for a
// forecast. It reports whether slots are left.
func Groups(a *Targets, from, n int32, counts map[pace.Group]int) (more bool) {
	for slot := from; slot < min(from+n, a.Size()); slot++ {
		if a.Watched(slot) {
			counts[group(a, slot)]++
		}
	}
	return from+n < a.Size()
}

// group is the group of one account, with its rate to an eighth of an e-fold.
func group(a *Targets, slot int32) pace.Group {
	ask := a.Table.Ask(slot)
	g := pace.Group{Interval: ask.Interval, Weight: ask.Weight, Rate: UnknownRate}
	if r := a.PostRate(slot); r > 0 {
		g.Rate = math.Exp(math.Round(math.Log(r)*8) / 8)
	}
	return g
}
