package dispatch_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

// Parts move back and forth between three nodes, planned and by losses, while receivers
// are slow, fail and hang. Each attempt is made once, each delivery is sent until it is
// taken, and a receiver has more than its limit under way only until 10 s after a move.
func TestPartsMoveBackAndForth(t *testing.T) {
	seeds := 3
	if testing.Short() {
		seeds = 1
	}
	for seed := range seeds {
		for _, losses := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed %d, losses %v", seed, losses), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { moveBackAndForth(t, rand.New(rand.NewPCG(uint64(seed), 0)), losses) })
			})
		}
	}
}

// receives is how receivers answer, by the beginning of their endpoint's id.
func receives(ctx context.Context, d *deliver.Delivery) deliver.Result {
	kind, _, _ := strings.Cut(d.EndpointID, "-")
	wait, ok := 20*time.Millisecond, true
	switch kind {
	case "slow":
		wait = 700 * time.Millisecond
	case "fails":
		ok = d.Attempts >= 1 || d.Event.TweetID[len(d.Event.TweetID)-1]%2 == 0
	case "hangs":
		if d.Attempts == 0 && strings.HasSuffix(d.Event.TweetID, "0") {
			wait = time.Hour
		}
	}
	select {
	case <-time.After(wait):
	case <-ctx.Done():
		return deliver.Result{Error: deliver.TimeoutError}
	}
	if ok {
		return deliver.Result{OK: true, StatusCode: 200}
	}
	return deliver.Result{StatusCode: 500, Error: "status 500"}
}

func moveBackAndForth(t *testing.T, rnd *rand.Rand, losses bool) {
	const limit = 2
	s := newShared(t, 3, receives, nil)
	type moved struct {
		at   time.Time
		lost bool
	}
	moves := map[string]moved{} // by endpoint
	kinds := []string{"good", "slow", "fails", "hangs"}
	var ids []string
	owner := map[string]int{}
	for i := range 12 {
		id := fmt.Sprintf("%s-%d", kinds[i%len(kinds)], i)
		s.endpoint(id, deliver.Limits{InFlight: limit})
		ids = append(ids, id)
		owner[id] = i % 3
	}
	s.begun = func(id string, underWay int) {
		if since := time.Since(moves[id].at); underWay > limit && since > 10*time.Second {
			t.Errorf("%s has %d under way %s after it moved, want at most %d", id, underWay, since, limit)
		}
	}
	for i, node := range s.nodes {
		var parts fleet.Set
		for _, id := range ids {
			if owner[id] == i {
				parts.Add(fleet.PartOf(id))
			}
		}
		node.set(parts)
	}
	s.run()
	events := map[string]int{}
	for range 400 {
		pass(time.Duration(rnd.IntN(400)) * time.Millisecond)
		id := ids[rnd.IntN(len(ids))]
		// Committed by whichever node polls the source.
		s.nodes[rnd.IntN(3)].commit(id, fmt.Sprintf("%04d-", events[id]), 1)
		events[id]++
		if rnd.IntN(12) > 0 {
			continue
		}
		id = ids[rnd.IntN(len(ids))]
		from, to := s.nodes[owner[id]], s.nodes[rnd.IntN(3)]
		if from == to {
			continue
		}
		s.mu.Lock()
		moves[id] = moved{at: time.Now()}
		s.mu.Unlock()
		if parts := fleet.SetOf(fleet.PartOf(id)); !losses || rnd.IntN(2) > 0 {
			from.give(to, parts)
			owner[id] = to.n
			continue
		}
		from.d.Lose()
		s.mu.Lock()
		for other, n := range owner {
			if n == from.n {
				moves[other] = moved{time.Now(), true}
				owner[other] = to.n
			}
		}
		lost := from.lanes
		from.lanes = fleet.Set{}
		s.mu.Unlock()
		to.set(to.lanes.Plus(lost))
	}
	pass(20 * time.Minute)
	s.stop()
	tries := map[string]int{}
	for _, a := range s.attempts() {
		if tries[a.id]++; a.n != tries[a.id] {
			t.Errorf("attempt %d of %s of %s is the %d. that began", a.n, a.tweet, a.endpoint, tries[a.id])
		}
	}
	open := 0
	for _, e := range s.log() {
		if e.State != deliver.StateDelivered || len(e.Log) != tries[e.ID] {
			open++
		}
	}
	if open > 0 || len(tries) != 400 {
		t.Errorf("%d of %d not delivered, or with other attempts in the log than were made", open, len(tries))
	}
}
