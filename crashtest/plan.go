package main

import (
	"math/rand/v2"
	"time"
)

// plan is how one life is to end.
type plan struct {
	point point // none when its name is ""
	skip  int
	// after the first poll the parent kills the process or, for a point of a
	// graceful stop, asks it to stop.
	after time.Duration
	// disturbed after the first poll: what stands behind the store is killed as
	// well; 0 for not.
	disturbed time.Duration
}

// Bounds of a life, after its first poll.
const (
	soonest = 5 * time.Millisecond
	latest  = tempo * 500 * time.Millisecond
	// patience is how long a point that is passed while the engine runs is
	// waited for.
	patience = tempo * 2 * time.Second
)

// disturbEvery is in how many lives the backend suffers, too.
const disturbEvery = 5

// chooser decides how lives end, so that each point gets its share.
type chooser struct {
	rand *rand.Rand
	of   []point
	want int // hits of each point
	hits map[string]int
}

func newChooser(seed uint64, store string, want int) *chooser {
	return &chooser{rand: rand.New(rand.NewPCG(seed, 4)), of: pointsOf(store), want: max(1, want), hits: make(map[string]int)}
}

// namedShare of the kills are at points that lack hits; the others come at any
// moment.
const namedShare = 0.85

// next plans a life. fresh: the store was never opened; retaining: it removes
// what is settled.
func (c *chooser) next(fresh, retaining bool) plan {
	p := plan{after: soonest + time.Duration(c.rand.Int64N(int64(latest-soonest)))}
	if c.rand.IntN(disturbEvery) == 0 {
		p.disturbed = 1 + time.Duration(c.rand.Int64N(int64(p.after)))
	}
	if c.rand.Float64() >= namedShare {
		return p
	}
	var lacking []point
	fewest := c.want
	for _, pt := range c.of {
		if (pt.when == opening) != fresh || pt.name == retentionPoint && !retaining {
			continue
		}
		if n := c.hits[pt.name]; n < fewest {
			lacking, fewest = lacking[:0], n
		}
		if c.hits[pt.name] == fewest && fewest < c.want {
			lacking = append(lacking, pt)
		}
	}
	if len(lacking) == 0 {
		return p
	}
	p.point = lacking[c.rand.IntN(len(lacking))]
	p.skip = c.rand.IntN(p.point.skip + 1)
	return p
}

// opens says whether a point is left that is passed at the first opening only.
func (c *chooser) opens() bool {
	for _, pt := range c.of {
		if pt.when == opening && c.hits[pt.name] < c.want {
			return true
		}
	}
	return false
}
