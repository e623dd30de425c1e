package top

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
)

// A List has what sorting all of it and cutting the rest would leave.
func TestListIsTheBeginOfTheSorted(t *testing.T) {
	type pair struct{ key, came int }
	byKey := func(a, b pair) int { return cmp.Compare(a.key, b.key) }
	random := rand.New(rand.NewPCG(1, 2))
	for most := range 12 {
		for size := range 30 {
			l := New(most, byKey)
			var all []pair
			for i := range size {
				p := pair{random.IntN(8), i}
				all = append(all, p)
				l.Add(p)
			}
			slices.SortStableFunc(all, byKey)
			if want := all[:min(most, size)]; !slices.Equal(l.All(), want) {
				t.Fatalf("the first %d of %d are %v, want %v", most, size, l.All(), want)
			}
		}
	}
}
