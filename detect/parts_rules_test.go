package detect

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// start2 makes two nodes on a world, of which the first has the parts of these targets, and
// the other one the rest.
func (n *nodes) start2(t *testing.T, w *searchable, first ...string) (stop func()) {
	t.Helper()
	var own fleet.Set
	for _, target := range first {
		own.Add(fleet.PartOf(target))
	}
	var stops []func()
	for range 2 {
		d := w.detector(t, nil)
		n.list = append(n.list, d)
		if err := d.SetParts(t.Context(), fleet.Set{}); err != nil {
			t.Fatal(err)
		}
		stops = append(stops, start(t, d))
	}
	n.give(t, 0, own)
	n.give(t, 1, fleet.All().Minus(own))
	return func() {
		for _, stop := range stops {
			stop()
		}
	}
}

// covered is how many rules of a query get their posts from timelines, as a node says.
func covered(t *testing.T, d *Detector, query string) int {
	t.Helper()
	st, ok, err := d.Query(t.Context(), query)
	if err != nil || !ok {
		t.Fatalf("query %s: %t, %v", query, ok, err)
	}
	return st.Covered
}

// Wherever the authors and the query are, both nodes decide alike where the rule's posts
// come from, and one of them alone searches.
func TestRulesAreDecidedAlike(t *testing.T) {
	authors := map[string]string{"esa": "account:esa", "nasa": "account:nasa"}
	for _, monitors := range []struct {
		name      string
		esa, nasa time.Duration // 0 for none
		covered   int
	}{
		{"all authors are polled as often", 10 * time.Second, 5 * time.Second, 1},
		{"one is polled seldom", 10 * time.Second, 20 * time.Second, 0},
		{"one is not polled", 10 * time.Second, 0, 0},
	} {
		for where := range 8 {
			t.Run(fmt.Sprintf("%s, %03b", monitors.name, where), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newSearchable()
					var first []string
					for i, target := range []string{authors["esa"], authors["nasa"], "query:moon"} {
						if where>>i&1 == 0 {
							first = append(first, target)
						}
					}
					n := nodes{asks: []QuerySubscription{byAuthors(asks("r", "moon"), "esa", "nasa")}}
					for name, every := range map[string]time.Duration{"esa": monitors.esa, "nasa": monitors.nasa} {
						if every > 0 {
							s := sub("m-"+name, name)
							s.Interval = every
							n.subs = append(n.subs, s)
						}
					}
					stop := n.start2(t, w, first...)
					after(time.Minute)
					before, _ := w.polled("moon")
					w.say("esa", "moon e1", 0)
					w.say("nasa", "moon n1", 0)
					w.say("nasa", "sun n2", 0)
					after(time.Minute)
					for i, d := range n.list {
						if got := covered(t, d, "moon"); got != monitors.covered {
							t.Errorf("node %d: %d rules covered, want %d", i, got, monitors.covered)
						}
						st, _, err := d.Query(t.Context(), "moon")
						if elsewhere := where>>2&1 != i; err != nil || st.Elsewhere != elsewhere {
							t.Errorf("node %d: elsewhere is %t, want %t; %v", i, st.Elsewhere, elsewhere, err)
						}
					}
					now, _ := w.polled("moon")
					if got, want := len(now)-len(before), 6*(1-monitors.covered); got != want {
						t.Errorf("%d searches in a minute, want %d", got, want)
					}
					wantOf(t, w, "r", "e1", "n1")
					stop()
				})
			})
		}
	}
}

// A rule moves between its search and its authors' timelines while posts come, and while
// one node hears of the change seconds after the other, and parts move as well.
func TestRulesMoveAcrossNodes(t *testing.T) {
	for where := range 8 {
		for first := range 2 {
			t.Run(fmt.Sprintf("%03b, node %d hears first", where, first), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					w := newSearchable()
					var mine []string
					for i, target := range []string{"account:esa", "account:nasa", "query:moon"} {
						if where>>i&1 == 0 {
							mine = append(mine, target)
						}
					}
					slow, fast := sub("m", "esa", "nasa"), sub("m", "esa", "nasa")
					slow.Interval = 20 * time.Second
					n := nodes{subs: []Subscription{fast}, asks: []QuerySubscription{byAuthors(asks("r", "moon"), "esa", "nasa")}}
					stop := n.start2(t, w, mine...)
					var want []string
					post := func(seconds int) {
						for range seconds {
							id := fmt.Sprint("p", len(want))
							w.say([]string{"esa", "nasa"}[len(want)%2], "moon "+id, 0)
							want = append(want, id)
							after(time.Second)
						}
					}
					post(20)
					for i, s := range []Subscription{slow, fast, slow, fast} {
						set(t, n.list[first], s)
						post(5)
						set(t, n.list[1-first], s)
						post(40)
						for k, d := range n.list {
							if got := covered(t, d, "moon"); got != i%2 {
								t.Errorf("change %d: node %d has %d rules covered", i, k, got)
							}
						}
						if i == 1 { // everything goes to the other node
							n.subs = []Subscription{s}
							n.give(t, 0, fleet.Set{})
							post(2)
							n.give(t, 1, fleet.All())
							post(20)
						}
					}
					after(time.Minute)
					for i, id := range want {
						want[i] = "r:" + id
					}
					if lost := missing(w.world, want); len(lost) > 0 {
						t.Errorf("lost %v of %d", lost, len(want))
					}
					if c, ok := w.cursors["query:moon"]; ok && !c.Since.IsZero() {
						t.Errorf("the journal has a cursor of %s for a query that nobody searches for", c.Since)
					}
					stop()
				})
			})
		}
	}
}

// A search is handed over with its cursor: no post is lost, and one node asks at a time.
func TestSearchIsHandedOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newSearchable()
		n := nodes{asks: []QuerySubscription{asks("r", "moon"), asks("q", "sun")}}
		stop := n.start2(t, w, "query:moon")
		var want, both []string
		for k := range 60 {
			id := fmt.Sprint("p", k)
			w.say("esa", "moon "+id, 0)
			want = append(want, id)
			if k%3 == 0 {
				w.say("nasa", "sun s"+id, 0)
				both = append(both, "s"+id)
			}
			after(7 * time.Second)
			if k%4 == 3 {
				to, all := k/4%2, [2]fleet.Set{}
				all[to] = fleet.All()
				n.give(t, 1-to, all[1-to])
				n.give(t, to, all[to])
			}
		}
		after(time.Minute)
		wantOf(t, w, "r", want...)
		wantOf(t, w, "q", both...)
		if times, _ := w.polled("moon"); len(times) > 60*7/10+45 {
			t.Errorf("%d searches in 7 minutes of one query", len(times))
		}
		stop()
	})
}
