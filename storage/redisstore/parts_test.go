package redisstore_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/storage"
	"github.com/streamwatch/streamwatch/storage/memory"
	"github.com/streamwatch/streamwatch/storage/redisstore"
)

// Claims by part, and when the next is due, are those of a store that looks at each
// delivery: whatever is due, left out, settled and given back.
func TestClaimsByPartAreThoseOfAnotherStore(t *testing.T) {
	t.Parallel()
	s, server, clock := open(t, redisstore.Options{})
	model := memory.New(memory.Options{Now: clock.Now})
	stores := []storage.Store{s, model}
	rnd := rand.New(rand.NewPCG(5, 6))
	ctx := t.Context()
	ids := make([]string, 40)
	for i := range ids {
		ids[i] = fmt.Sprint("lane ", i)
	}
	if fleet.PartOf(deliver.HandlerEndpoint(ids[0])) == fleet.PartOf(deliver.HandlerEndpoint(ids[1])) {
		t.Fatal("two lanes are of one part")
	}
	someParts := func() *fleet.Set {
		var set fleet.Set
		for range rnd.IntN(len(ids)) {
			set.Add(fleet.PartOf(deliver.HandlerEndpoint(ids[rnd.IntN(len(ids))])))
		}
		return []*fleet.Set{&set, &set, nil}[rnd.IntN(3)]
	}
	made, claimed := 0, 0
	var open []string
	for step := range testsize.Of(150, 150, 500) {
		now := clock.Now().Add(time.Duration(rnd.IntN(3000)) * time.Microsecond)
		parts := someParts()
		var shown [2]string
		switch rnd.IntN(4) {
		case 0:
			var evs []deliver.Event
			for range 1 + rnd.IntN(20) {
				made++
				evs = append(evs, newEvent(acme, fmt.Sprint(made), ids[rnd.IntN(len(ids))], ids[rnd.IntN(len(ids))]))
			}
			due := now.Add(time.Duration(rnd.IntN(3)) * time.Microsecond)
			for i, s := range stores {
				b := &detect.Batch{Events: append([]deliver.Event(nil), evs...), DeliverBy: due}
				must(t, s.Ports().Journal.Commit(ctx, []*detect.Batch{b}))
				for _, d := range b.Deliveries {
					if i == 0 {
						open = append(open, d.ID)
					}
				}
			}
		case 1, 2:
			r := deliver.ClaimRequest{Now: now, Lease: time.Duration(rnd.IntN(4)) * time.Millisecond, Limit: 1 + rnd.IntN(30), Parts: parts}
			for range rnd.IntN(4) {
				r.Skip = append(r.Skip, deliver.HandlerEndpoint(ids[rnd.IntN(len(ids))]))
			}
			for i, s := range stores {
				ds, err := s.Ports().Outbox.Claim(ctx, r)
				must(t, err)
				for _, d := range ds {
					shown[i] += fmt.Sprintln(d.ID, d.EndpointID, d.Due)
				}
				claimed += len(ds)
			}
		case 3:
			var ss []deliver.Settlement
			for range rnd.IntN(60) {
				if len(open) == 0 {
					break
				}
				k := rnd.IntN(len(open))
				st := deliver.Settlement{DeliveryID: open[k], Due: now}
				if rnd.IntN(3) > 0 {
					st.Attempt, st.State = &deliver.Attempt{N: 1}, deliver.StateDelivered
					open[k] = open[len(open)-1]
					open = open[:len(open)-1]
				}
				ss = append(ss, st)
			}
			for _, s := range stores {
				must(t, s.Ports().Outbox.Settle(ctx, ss...))
			}
		}
		clock.Advance(time.Duration(rnd.IntN(2000)) * time.Microsecond)
		for i, s := range stores {
			for _, parts := range []*fleet.Set{nil, parts} {
				next, ok, err := s.Ports().Outbox.NextDue(ctx, parts)
				must(t, err)
				shown[i] += fmt.Sprintln("next", next.UTC(), ok)
			}
		}
		if shown[0] != shown[1] {
			t.Fatalf("step %d, parts %v:\n%s\nwant\n%s", step, parts, shown[0], shown[1])
		}
	}
	if claimed < testsize.Of(300, 300, 1000) {
		t.Errorf("%d deliveries were claimed: the test shows too little", claimed)
	}
	for _, id := range open {
		must(t, s.Ports().Outbox.Settle(ctx, deliver.Settlement{DeliveryID: id, Attempt: &deliver.Attempt{N: 2}, State: deliver.StateFailed}))
	}
	for _, key := range []string{"queue", "lanes", "turns"} {
		if server.Exists("{streamwatch}:" + key) {
			t.Errorf("%s has something when nothing is open", key)
		}
	}
}
