package main

import (
	"math/rand/v2"
	"time"
)

// plan says how the life of a process, the time from its start to its end, is to end.
type plan struct {
	point point // none when its name is ""
	skip  int
	// after is the time from the start of the process until it is killed. If point is in a graceful
	// stop, it is the time until the process is asked to stop.
	after time.Duration
	// disturbed is the time from the start until the backend is disturbed too; 0 for never.
	disturbed time.Duration
}

// Bounds of plan.after.
const (
	soonest = 5 * time.Millisecond
	latest  = tempo * 500 * time.Millisecond
	// patience is how long the parent waits for the process to die at a point that is passed while
	// the engine runs.
	patience = tempo * 2 * time.Second
)

// disturbEvery is the number of lives of which one, on average, has a disturbed backend.
const disturbEvery = 5

// chooser plans how lives end. Each point gets its share of the kills.
type chooser struct {
	rand *rand.Rand
	of   []point
	want int // hits that each point needs
	hits map[string]int
}

func newChooser(seed uint64, store string, want int) *chooser {
	return &chooser{rand: rand.New(rand.NewPCG(seed, 4)), of: pointsOf(store), want: max(1, want), hits: make(map[string]int)}
}

// namedShare is the share of kills at named points while some points still need hits. The other
// kills come at any moment.
const namedShare = 0.85

// next plans a life. fresh means that the store was never opened before.
func (c *chooser) next(fresh bool) plan {
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
		if (pt.when == opening) != fresh {
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
