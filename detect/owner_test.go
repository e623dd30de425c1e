package detect

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

// An owner whose short intervals would take nearly all of the budget is capped,
// and an account of two owners counts for the one with the higher weight.
func TestOwnerCapUnderABudget(t *testing.T) {
	polls := func(other float64) (theirs, rest int) {
		synctest.Test(t, func(t *testing.T) {
			w := newWorld()
			d := paced(t, w, 1, nil)
			defer start(t, d)()
			all := accountNames(60)
			set(t, d, bounded("others", 0, 0, all[6:]...))
			greedy := bounded("greedy", 12*time.Second, 2, all[:6]...)
			greedy.Source.Owner = "g"
			set(t, d, greedy)
			if other > 0 {
				set(t, d, bounded("also", 0, other, all[:6]...))
			}
			after(time.Duration(testsize.Of(60, 90, 180)) * time.Minute)
			begin := time.Now()
			after(time.Duration(testsize.Of(20, 30, 60)) * time.Minute)
			for i, a := range all {
				for _, at := range w.callTimes(a) {
					switch {
					case at.Before(begin):
					case i < 6:
						theirs++
					default:
						rest++
					}
				}
			}
		})
		return theirs, rest
	}
	const most = 0.1 + 0.9*0.18
	if theirs, rest := polls(0); float64(theirs)/float64(theirs+rest) > 1.05*most {
		t.Errorf("an owner of a tenth of the accounts has %d polls of %d, want a part of %.2f", theirs, theirs+rest, most)
	}
	if theirs, rest := polls(1); float64(theirs)/float64(theirs+rest) > 1.05*most {
		t.Errorf("with a lighter second owner %d polls of %d, want a part of %.2f", theirs, theirs+rest, most)
	}
	if theirs, rest := polls(3); float64(theirs)/float64(theirs+rest) < 0.48 {
		t.Errorf("with a heavier second owner %d polls of %d, want the intervals kept", theirs, theirs+rest)
	}
}
