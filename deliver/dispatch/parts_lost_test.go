package dispatch_test

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/fleet"
)

// A term that was lost gives nothing back: the claims end by themselves. What was under
// way is recorded.
func TestLoseGivesNothingBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var spy *spied
		s := newShared(t, 2, takes(time.Second), func(node int, c *dispatch.Config) {
			if c.LaneQueue = 20; node == 0 {
				spy = &spied{Outbox: c.Outbox}
				c.Outbox = spy
			}
		})
		a, b := s.nodes[0], s.nodes[1]
		p := s.endpoint("p", deliver.Limits{InFlight: 1})
		a.set(p)
		s.run()
		a.commit("p", "x", 30, "h") // ten find no room
		pass(100 * time.Millisecond)
		_, before := spy.count()
		began := time.Now()
		a.d.Lose()
		b.set(p)
		pass(30 * time.Second)
		if _, back := spy.count(); back != before {
			t.Errorf("%d deliveries given back or claimed anew", back-before)
		}
		for _, at := range s.attempts() {
			if at.at.After(began) && at.node == 0 {
				t.Errorf("node 0 sends %s to %s after Lose", at.tweet, at.endpoint)
			}
		}
		if e := s.log()[0]; e.State != deliver.StateDelivered || len(e.Log) != 1 {
			t.Errorf("the attempt under way is not recorded: %s, %d attempts", e.State, len(e.Log))
		}
		pass(10 * time.Minute)
		sent := map[string]int{}
		for _, at := range s.attempts() {
			if at.endpoint == "p" {
				sent[at.id]++
			}
		}
		for id, n := range sent {
			if n != 1 {
				t.Errorf("%s sent %d times", id, n)
			}
		}
		if len(sent) != 30 {
			t.Errorf("%d of 30 sent in the end", len(sent))
		}
		s.stop()
	})
}

// Replays and deliveries that are reopened are the other node's, who hears of them; a
// replay goes on after its part has moved.
func TestReplaysMoveWithTheirParts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShared(t, 2, takes(100*time.Millisecond), nil)
		a, b := s.nodes[0], s.nodes[1]
		for i := range 10 {
			a.stored("p", fmt.Sprintf("%02d-", i), 20) // before there is an endpoint
		}
		p := s.endpoint("p", deliver.Limits{InFlight: 1})
		b.set(p)
		s.run()
		if err := a.d.StartReplay(t.Context(), replayOf("p", 200)); err != nil {
			t.Fatal(err)
		}
		if got := a.hears(); !slices.Equal(got, slices.Collect(p.All())) {
			t.Errorf("told of %v, want %v", got, p)
		}
		pass(5 * time.Second)
		if n := len(s.attempts()); n < 30 || s.attempts()[0].node != 1 {
			t.Errorf("%d attempts in 5 s, by %+v", n, s.attempts()[0])
		}
		a.set(fleet.SetOf(slices.Collect(fleet.All().Minus(p).All())[0]))
		pass(2 * time.Second)
		if n := a.d.Stats().Replays; n != 0 {
			t.Errorf("%d replays under way where the part is not", n)
		}
		b.give(a, p)
		pass(time.Minute)
		if n := b.d.Stats().Replays; n != 0 {
			t.Errorf("%d replays under way where the part was", n)
		}
		pass(time.Minute)
		sent := map[string]bool{}
		for _, at := range s.attempts() {
			if sent[at.id] {
				t.Errorf("%s was sent twice", at.tweet)
			}
			sent[at.id] = true
		}
		if len(sent) != 200 {
			t.Errorf("%d of 200 sent", len(sent))
		}
		id := s.log()[0].ID
		b.hears()
		n, err := b.d.Reopen(t.Context(), "o", "p", []string{id})
		if n != 1 || err != nil {
			t.Fatalf("Reopen: %d, %v", n, err)
		}
		synctest.Wait()
		if got := b.hears(); !slices.Equal(got, slices.Collect(p.All())) {
			t.Errorf("told of %v, want %v", got, p)
		}
		if all := s.attempts(); all[len(all)-1].id != id || all[len(all)-1].node != 0 {
			t.Errorf("the last attempt is %+v, want one of %s by node 0", all[len(all)-1], id)
		}
		s.stop()
	})
}
