package accounts

import (
	"math"

	"github.com/streamwatch/streamwatch/internal/pace"
)

// UnknownRate is the rate assumed of accounts that were not polled yet: a post a day.
const UnknownRate = 1.0 / 86_400

// Groups adds the accounts in the n slots from a slot on to counts, by the group in which a
// forecast counts them. It reports whether slots are left.
func Groups(a *Targets, from, n int32, counts map[pace.Group]int) (more bool) {
	for slot := from; slot < min(from+n, a.Size()); slot++ {
		if a.Watched(slot) {
			counts[group(a, slot)]++
		}
	}
	return from+n < a.Size()
}

// group returns the group of an account, with the rate rounded to an eighth of an e-fold.
func group(a *Targets, slot int32) pace.Group {
	ask := a.Table.Ask(slot)
	g := pace.Group{Interval: ask.Interval, Weight: ask.Weight, Rate: UnknownRate}
	if r := a.PostRate(slot); r > 0 {
		g.Rate = math.Exp(math.Round(math.Log(r)*8) / 8)
	}
	return g
}
