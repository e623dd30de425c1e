package detect

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fleet"
)

// two makes two nodes on a world; neither has a part.
func two(t *testing.T, w *world, tune func(i int, c *settings)) (n *nodes, stop func()) {
	t.Helper()
	n = &nodes{}
	var stops []func()
	for i := range 2 {
		d := w.detector(t, func(c *settings) {
			if tune != nil {
				tune(i, c)
			}
		})
		n.list = append(n.list, d)
		if err := d.SetParts(t.Context(), fleet.Set{}); err != nil {
			t.Fatal(err)
		}
		stops = append(stops, start(t, d))
	}
	return n, func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// SetParts returns when nothing of what was given up can be committed any more, however
// slow calls and commits are.
func TestNothingIsCommittedAfterSetParts(t *testing.T) {
	for name, slow := range map[string]func(w *world){
		"while pages are read":  func(w *world) { w.setSlow(700 * time.Millisecond) },
		"while it is committed": func(w *world) { w.setSlowStore(700 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				d := w.detector(t, nil)
				defer start(t, d)()
				others := accountNames(20) // whose commits nasa's has to wait for
				m := sub("m", append(others, "nasa")...)
				set(t, d, m)
				after(15 * time.Second)
				slow(w)
				for k := range 20 {
					w.publish("nasa", fmt.Sprint(k), 0)
					for _, name := range others {
						w.publish(name, fmt.Sprint(name, "-", k), 0)
					}
					after(time.Duration(k) * 550 * time.Millisecond)
					if err := d.SetParts(t.Context(), fleet.Set{}); err != nil {
						t.Fatal(err)
					}
					commits, polls := w.commits, len(w.callTimes("nasa"))
					after(time.Minute)
					if w.commits != commits || len(w.callTimes("nasa")) != polls {
						t.Errorf("move %d: %d commits and %d polls after SetParts", k, w.commits-commits, len(w.callTimes("nasa"))-polls)
					}
					n := nodes{list: []*Detector{d}, subs: []Subscription{m}}
					n.give(t, 0, fleet.All())
				}
				after(time.Minute)
				if lost := missing(w, ids("m", "", 0, 20)); len(lost) > 0 {
					t.Errorf("lost %v", lost)
				}
			})
		})
	}
}

// Two nodes never poll an account twice within its interval, but for moves.
func TestPollsOfTwoNodesAreThoseOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		n, stop := two(t, w, nil)
		defer stop()
		names := accountNames(30)
		n.subs = []Subscription{sub("m", names...), sub("m2", names[10:20]...)}
		a, b := halves()
		n.give(t, 0, a)
		n.give(t, 1, b)
		after(15 * time.Second)
		for range 3 { // what stays is polled as before, also when all is set again
			n.give(t, 0, a)
			n.give(t, 1, b)
			after(20 * time.Second)
		}
		for _, name := range names {
			times := w.callTimes(name)
			for i := 1; i < len(times); i++ {
				if d := times[i].Sub(times[i-1]); d < 9990*time.Millisecond || d > 10010*time.Millisecond {
					t.Errorf("%s is polled after %s, want 10 s", name, d)
				}
			}
			if len(times) < 6 {
				t.Errorf("%s is polled %d times", name, len(times))
			}
		}
	})
}

// What is set again is looked up in the journal only where it is not polled yet.
func TestSettingAgainReadsFewCursors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		asked := 0
		n, stop := two(t, w, func(_ int, c *settings) { c.Journal = counting{w, &asked} })
		defer stop()
		names := accountNames(50)
		n.subs = []Subscription{sub("m", names...)}
		a, b := halves()
		n.give(t, 0, a)
		after(time.Minute)
		asked = 0
		n.give(t, 0, a)
		if asked != 0 {
			t.Errorf("%d cursors are read of accounts that are polled", asked)
		}
		n.give(t, 0, fleet.All())
		var want int
		for _, name := range names {
			if b.Has(fleet.PartOf("account:" + name)) {
				want++
			}
		}
		if asked != want || want == 0 {
			t.Errorf("%d cursors are read, want those of the %d accounts taken", asked, want)
		}
	})
}

// counting counts the cursors that are asked for.
type counting struct {
	*world
	asked *int
}

func (c counting) Cursors(ctx context.Context, targets ...string) ([]Cursor, error) {
	c.do(func() { *c.asked += len(targets) })
	return c.world.Cursors(ctx, targets...)
}

// A monitor whose turn comes when the account that was taken has been polled already for
// another one lacks nothing, and is not served from its beginning.
func TestWhoIsSetLaterGoesOnWhereTheOtherNodeWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		n, stop := two(t, w, nil)
		defer stop()
		n.subs = []Subscription{sub("m", "nasa"), sub("late", "nasa")}
		n.give(t, 0, fleet.All())
		n.give(t, 1, fleet.Set{})
		for i := range 300 {
			w.publish("nasa", fmt.Sprint("p", i), 0)
			after(time.Minute)
		}
		n.give(t, 0, fleet.Set{})
		if err := n.list[1].SetParts(t.Context(), fleet.All()); err != nil {
			t.Fatal(err)
		}
		w.publish("nasa", "p300", 0)
		set(t, n.list[1], n.subs[0])
		after(30 * time.Second) // it is polled, and p300 is known
		w.do(func() { w.calls = nil })
		set(t, n.list[1], n.subs[1])
		after(30 * time.Second)
		if lost := missing(w, append(ids("m", "p", 0, 301), ids("late", "p", 0, 301)...)); len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
		w.do(func() {
			if len(w.calls) > 8 {
				t.Errorf("%d pages are read in 30 s: want the polls, and those back to where the other node was", len(w.calls))
			}
		})
		if gaps := n.list[1].Stats().Gaps; gaps != 0 {
			t.Errorf("%d gaps", gaps)
		}
	})
}

// Account, Query and ReadUntil tell of what another node polls by the journal.
func TestStatusOfWhatAnotherNodePolls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		n, stop := two(t, w.world, func(_ int, c *settings) { c.Fetcher = w })
		defer stop()
		slow := asks("s", "moon")
		slow.Interval = time.Minute
		n.asks = []QuerySubscription{slow, asks("r", "moon")}
		n.subs = []Subscription{sub("m", "nasa"), sub("m2", "NASA")}
		n.give(t, 0, fleet.All())
		n.give(t, 1, fleet.Set{})
		after(20 * time.Minute)
		here, ok, err := n.list[0].Account(t.Context(), "nasa")
		if err != nil || !ok || here.Elsewhere || here.Sources != 2 {
			t.Errorf("its own: %+v, %t, %v", here, ok, err)
		}
		there, ok, err := n.list[1].Account(t.Context(), "@Nasa")
		if err != nil || !ok || !there.Elsewhere || there.Sources != 2 || there.UserID != "id-nasa" || there.Interval != 10*time.Second {
			t.Errorf("another's: %+v, %t, %v", there, ok, err)
		}
		if d := here.LastPoll.Sub(there.LastPoll); d < 0 || d > 6*time.Minute {
			t.Errorf("last poll %s, by the journal %s", here.LastPoll, there.LastPoll)
		}
		for i, d := range n.list {
			if d.Part("@Nasa") != fleet.PartOf("account:nasa") || d.PartOfQuery("moon") != fleet.PartOf("query:moon") {
				t.Errorf("node %d: other parts than those of the journal's targets", i)
			}
			st, ok, err := d.Query(t.Context(), "moon")
			if err != nil || !ok || st.Sources != 2 || st.Covered != 0 || st.Elsewhere != (i == 1) || st.Interval != 10*time.Second || st.NextPoll.IsZero() != st.Elsewhere ||
				st.LastContact.IsZero() != st.Elsewhere || time.Since(st.LastPoll) > 6*time.Minute || st.Part != fleet.PartOf("query:moon") {
				t.Errorf("node %d: query %+v, %t, %v", i, st, ok, err)
			}
		}
		if _, ok, _ := n.list[1].Account(t.Context(), "esa"); ok {
			t.Error("an account is known that nobody watches")
		}
		for i, d := range n.list {
			until, err := d.ReadUntil(t.Context(), "m", "nasa")
			if at := until["nasa"].Add(30 * time.Minute); err != nil || len(until) != 1 || time.Since(at) > 6*time.Minute {
				t.Errorf("node %d: read until %v, %v", i, until, err)
			}
		}
		joins := sub("joins", "nasa") // what the journal says was read for others
		for _, d := range n.list {
			set(t, d, joins)
		}
		after(11 * time.Second)
		if until, err := n.list[1].ReadUntil(t.Context(), "joins", "nasa"); err != nil || len(until) > 0 {
			t.Errorf("read until %v, %v: want nothing that is sure", until, err)
		}
		if s := n.list[1].Stats().Parts; s.Own != 0 || s.Elsewhere != 1 {
			t.Errorf("stats %+v", s)
		}
		if s := n.list[0].Stats().Parts; s.Own != fleet.Parts || s.Elsewhere != 0 {
			t.Errorf("stats %+v", s)
		}
		if err := n.list[0].SetParts(t.Context(), fleet.Set{}); err != nil {
			t.Fatal(err)
		}
		if st, ok, err := n.list[0].Query(t.Context(), "moon"); err != nil || !ok || !st.Elsewhere {
			t.Errorf("a query that was given away: %+v, %t, %v", st, ok, err)
		}
	})
}

// A stream is one node's, which hands over where it is, and all of its accounts.
func TestStreamIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		wires := [2]*wire{newWire(), newWire()}
		n, stop := two(t, w, func(i int, c *settings) { c.Roles.Stream = wires[i] })
		defer stop()
		m := sub("m", accountNames(20)...)
		m.Interval = time.Minute
		n.subs = []Subscription{m}
		var mine fleet.Set
		mine.Add(fleet.PartOf("stream/"))
		n.give(t, 0, mine)
		n.give(t, 1, fleet.All().Minus(mine))
		after(5 * time.Minute)
		if got := n.list[0].Stats().Stream.Accounts; got != 20 || wires[1].connects() != 0 {
			t.Fatalf("the stream of the first is for %d accounts, the other has connected %d times", got, wires[1].connects())
		}
		var want []string
		push := func(node int) {
			id := fmt.Sprint("p", len(want))
			w.publish("account00", id, 0)
			wires[node].bring(w, "account00", id)
			want = append(want, "m:"+id)
			synctest.Wait()
		}
		owner := 0
		for range 20 {
			push(owner)
			push(owner)
			missed := fmt.Sprint("p", len(want))
			w.publish("account00", missed, 0)
			want = append(want, "m:"+missed)
			wires[owner].out <- fetcher.Signal{Kind: fetcher.SignalHeartbeat, Position: "later"} // not stored at once
			if err := n.list[owner].SetParts(t.Context(), fleet.Set{}); err != nil {
				t.Fatal(err)
			}
			position := w.cursors["stream"].Position
			n.list[owner].storePositions() // as any commit of the node would
			after(15 * time.Second)
			if is := w.cursors["stream"].Position; is != position {
				t.Errorf("position %s is stored after it was given up at %s", is, position)
			}
			owner = 1 - owner
			connects := wires[owner].connects()
			n.give(t, owner, fleet.All())
			after(3 * time.Minute)
			if q := wires[owner].last(); wires[owner].connects() != connects+1 || q.Position != position || n.list[owner].Stats().Stream.Accounts != 20 {
				t.Fatalf("connected %d times, from %q: want once more, from %q", wires[owner].connects()-connects, q.Position, position)
			}
		}
		push(owner)
		if lost := missing(w, want); len(lost) > 0 {
			t.Errorf("lost %v", lost)
		}
		if len(w.got()) != len(want) {
			t.Errorf("%d events, want %d", len(w.got()), len(want))
		}
	})
}
