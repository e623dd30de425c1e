package accounts

import (
	"slices"
	"sort"
)

// slotSet is a set of slots, stored as sorted runs. The accounts of a source are usually added
// together and get neighbouring slots.
type slotSet []slotRun

type slotRun struct{ from, to int32 } // from is in the run, to is not

// setOf returns the set of the given slots, which must be sorted.
func setOf(sorted []int32) slotSet {
	var set slotSet
	for _, slot := range sorted {
		if n := len(set); n > 0 && set[n-1].to == slot {
			set[n-1].to++
		} else {
			set = append(set, slotRun{slot, slot + 1})
		}
	}
	return slices.Clip(set)
}

func (s slotSet) has(slot int32) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].to > slot })
	return i < len(s) && s[i].from <= slot
}

// without returns the set without the given slots, which must be sorted.
func (s slotSet) without(sorted []int32) slotSet {
	var left slotSet
	for _, run := range s {
		for ; len(sorted) > 0 && sorted[0] < run.to; sorted = sorted[1:] {
			if gone := sorted[0]; gone >= run.from {
				if gone > run.from {
					left = append(left, slotRun{run.from, gone})
				}
				run.from = gone + 1
			}
		}
		if run.from < run.to {
			left = append(left, run)
		}
	}
	return left
}

func (s slotSet) each(fn func(slot int32)) {
	for _, run := range s {
		for slot := run.from; slot < run.to; slot++ {
			fn(slot)
		}
	}
}
