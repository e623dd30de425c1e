package accounts

import "sort"

// slotSet is a set of slots as runs of neighbours: a source's accounts come
// together, and so do their slots.
type slotSet []slotRun

type slotRun struct{ from, to int32 } // to is behind the last

// setOf makes a set of sorted slots.
func setOf(sorted []int32) slotSet {
	runs := 0
	for i := range sorted {
		if i == 0 || sorted[i] != sorted[i-1]+1 {
			runs++
		}
	}
	set := make(slotSet, 0, runs)
	for _, slot := range sorted {
		if n := len(set); n > 0 && set[n-1].to == slot {
			set[n-1].to++
		} else {
			set = append(set, slotRun{slot, slot + 1})
		}
	}
	return set
}

func (s slotSet) has(slot int32) bool {
	i := sort.Search(len(s), func(i int) bool { return s[i].to > slot })
	return i < len(s) && s[i].from <= slot
}

func (s slotSet) each(fn func(slot int32)) {
	for _, run := range s {
		for slot := run.from; slot < run.to; slot++ {
			fn(slot)
		}
	}
}
