package accounts

import (
	"slices"
	"testing"
)

func TestSlotSet(t *testing.T) {
	for _, slots := range [][]int32{nil, {0}, {0, 1, 2}, {3, 5, 6, 9}, {1, 2, 4, 5, 7}} {
		set := setOf(slots)
		var got []int32
		set.each(func(slot int32) { got = append(got, slot) })
		if !slices.Equal(got, slots) {
			t.Errorf("%v: each gives %v", slots, got)
		}
		for slot := int32(0); slot < 11; slot++ {
			if want := slices.Contains(slots, slot); set.has(slot) != want {
				t.Errorf("%v: has(%d) = %v, want %v", slots, slot, !want, want)
			}
		}
		for _, gone := range [][]int32{nil, {0}, {1}, {0, 2, 4, 6, 8}, {1, 2, 5}, {5, 6, 7, 8, 9, 10}} {
			var got, want []int32
			set.without(gone).each(func(slot int32) { got = append(got, slot) })
			for _, slot := range slots {
				if !slices.Contains(gone, slot) {
					want = append(want, slot)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%v without %v: %v, want %v", slots, gone, got, want)
			}
		}
	}
}
