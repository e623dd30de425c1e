package accounts

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/detect/internal/schedule"
	"github.com/streamwatch/streamwatch/internal/lateness"
	"github.com/streamwatch/streamwatch/monitor"
)

// Sources come, change and go, and accounts go to other nodes; what is kept of them is what is
// still watched, and nothing else. Long names and ids make much garbage.
func TestNothingIsKeptOfWhatWent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	table := newTargets()
	watched := map[string]map[string]bool{} // by source, accounts
	id := map[string]string{}               // by account
	name := func(i int) string { return fmt.Sprint("account", i, strings.Repeat("x", i*40)) }
	set := func(source string, names map[string]bool) {
		src, _ := table.setSource(Terms{Source: poll.Source{Source: deliver.Source{ID: source}}, Interval: time.Minute, Weight: 1})
		var slots []int32
		for _, name := range slices.Sorted(maps.Keys(names)) {
			at, ok := table.Find(HashName(name), name)
			if !ok {
				at, id[name] = table.add("@"+name), ""
			}
			table.subscribe(at, src, time.Unix(int64(rng.IntN(3)), 0), time.Time{}, false)
			if rng.IntN(4) == 0 {
				id[name] = []string{"", "42", "042", "did:plc:" + name}[rng.IntN(4)]
				table.setUserID(at, id[name])
			}
			slots = append(slots, at)
		}
		slices.Sort(slots)
		table.setAccounts(src, slots, nil, func(slot int32) {
			table.leave(slot, src)
			if !table.At(slot).Watched {
				table.Polls.Release(slot)
			}
		})
		table.pack()
		watched[source] = names
	}
	giveUp := func(name string) {
		wanted := 0
		for from, more := int32(0), true; more; from += 16 {
			var g Given
			g, more = table.GiveUp(from, 16, func(other string) bool { return other != name })
			for src, hashes := range g.Wanted {
				if wanted++; !slices.Equal(hashes, []uint64{HashName(name)}) || !watched[src.ID][name] {
					t.Fatalf("%d accounts of %s are given up, want %.12s", len(hashes), src.ID, name)
				}
			}
		}
		for _, names := range watched {
			if names[name] {
				wanted--
			}
			delete(names, name)
		}
		if wanted != 0 {
			t.Fatalf("%.12s is given up for %d sources too many", name, wanted)
		}
	}
	check := func() {
		subscribers, sources, shared := map[string]int{}, 0, 0
		for source, names := range watched {
			n := 0
			if src := table.Source(source); src != nil {
				sources++
				src.EachOf(func(slot int32) {
					if n++; !names[table.Username(slot)] {
						t.Fatalf("%s has %.12s", source, table.Username(slot))
					}
				})
			}
			if n != len(names) {
				t.Fatalf("%s has %d accounts, want %d", source, n, len(names))
			}
			for name := range names {
				subscribers[name]++
			}
		}
		for name, n := range subscribers {
			slot, ok := table.Find(HashName(name), name)
			table.Each(slot, func(Subscriber, *Source, time.Time) { n-- })
			if !ok || table.Username(slot) != name || table.UserID(slot) != id[name] || n != 0 {
				t.Fatalf("%.12s has slot %d, %v, the id %.12q and lacks %d subscribers", name, slot, ok, table.UserID(slot), n)
			}
			if subscribers[name] > 1 {
				shared++
			}
		}
		lists := 0
		for slot := range table.size {
			if table.at(slot).more != nil {
				lists++
			}
		}
		if used := int(table.Size()) - len(table.free); used != len(subscribers) || table.roster.n != used || lists != shared || len(table.sources) != sources {
			t.Fatalf("%d slots, %d of them found, %d shared, %d sources; want %d, as many, %d and %d",
				used, table.roster.n, lists, len(table.sources), len(subscribers), shared, sources)
		}
		if len(table.names.chunks) > 60 {
			t.Fatalf("%d chunks of names, want most garbage to be gone", len(table.names.chunks))
		}
	}
	for range 600 {
		if rng.IntN(4) == 0 {
			giveUp(name(rng.IntN(64)))
		}
		names := map[string]bool{}
		for range rng.IntN(20) {
			names[name(rng.IntN(64))] = true
		}
		set(fmt.Sprint("s", rng.IntN(6)), names)
		check()
	}
	for source := range watched {
		set(source, nil)
	}
	check()
	if wants := len(table.wants.list) - len(table.wants.free); wants != 0 || table.names.live != 0 {
		t.Errorf("%d beginnings and %d bytes of names are left", wants, table.names.live)
	}
}

// An account joins with what its window knows being news, until one poll that
// began with it was whole.
func TestSubscribersAreCovered(t *testing.T) {
	table := newTargets()
	join := func(id string) {
		src, _ := table.setSource(Terms{Source: poll.Source{Source: deliver.Source{ID: id}}, Interval: time.Minute, Weight: 1})
		table.subscribe(0, src, time.Unix(int64(len(id)), 0), time.Time{}, false)
	}
	slot := table.add("nasa")
	join("a")
	table.cover(slot)
	join("bb") // during the poll
	uncovered := func() (since []int64) {
		var v poll.View
		table.View(&poll.Poll{Slot: slot}, &v)
		for _, r := range v.Readers {
			if r.Fresh && !r.Covered {
				since = append(since, r.From.Unix())
			}
		}
		return since
	}
	if since := uncovered(); !slices.Equal(since, []int64{2}) {
		t.Errorf("uncovered since %v, want what joined during the poll", since)
	}
	table.served(slot)
	if !table.anyFresh(slot) {
		t.Error("who joined during a poll is not covered by it")
	}
	table.cover(slot)
	table.served(slot)
	if len(uncovered()) > 0 || table.anyFresh(slot) {
		t.Error("somebody is still fresh")
	}
}

// What the sources of an account ask for together, and those of one owner.
func TestAsk(t *testing.T) {
	for name, row := range map[string]struct {
		terms    []Terms // whose Owner is a letter
		ask      schedule.Ask
		monitors time.Duration // the shortest interval of a monitor
		ofB      int           // sources of the owner b
		bs       time.Duration // the shortest interval of these
	}{
		"one":                   {[]Terms{ask("a", 5, 2, false)}, schedule.Ask{Interval: 5, Weight: 2, Owner: "a"}, 5, 0, 0},
		"the shortest interval": {[]Terms{ask("a", 5, 1, false), ask("b", 3, 2, true), ask("b", 4, 1, false)}, schedule.Ask{Interval: 3, Weight: 4, Owner: "b"}, 4, 2, 3},
		"none at first":         {[]Terms{ask("b", 0, 1, false), ask("b", 7, 1, true), ask("b", 9, 1, true)}, schedule.Ask{Interval: 7, Weight: 3, Owner: "b"}, 0, 3, 7},
		"none later":            {[]Terms{ask("b", 7, 1, false), ask("b", 0, 1, false)}, schedule.Ask{Interval: 7, Weight: 2, Owner: "b"}, 7, 2, 7},
		"of equal weights":      {[]Terms{ask("c", 7, 1, false), ask("b", 7, 1, false), ask("d", 7, 1, false)}, schedule.Ask{Interval: 7, Weight: 3, Owner: "b"}, 7, 1, 7},
		"of the highest weight": {[]Terms{ask("c", 7, 1, false), ask("d", 7, 2, false), ask("b", 8, 1, false)}, schedule.Ask{Interval: 7, Weight: 4, Owner: "d"}, 7, 1, 8},
	} {
		table := newTargets()
		for i, terms := range row.terms {
			terms.ID = fmt.Sprint(i)
			table.SetSubscription(&Subscription{Terms: terms, All: []monitor.Account{{Username: "nasa"}}, Mine: []Account{{Hash: HashName("nasa")}}})
		}
		n, shortest := table.WantedBy(0, func(owner string) bool { return owner == "b" })
		if got := table.Ask(0); got != row.ask || table.MonitorInterval(0) != row.monitors || n != row.ofB || shortest != row.bs {
			t.Errorf("%s: %+v, of monitors %d, %d of b with %d; want %+v, %d, %d and %d", name, got, table.MonitorInterval(0), n, shortest, row.ask, row.monitors, row.ofB, row.bs)
		}
	}
}

func ask(owner string, interval time.Duration, weight float64, rule bool) Terms {
	terms := Terms{Source: poll.Source{Source: deliver.Source{Kind: deliver.SourceMonitor, Owner: owner}}, Interval: interval, Weight: weight}
	if rule {
		terms.Kind = deliver.SourceRule
	}
	return terms
}

// newTargets returns Targets without accounts, polled by nobody.
func newTargets() *Targets {
	env := &poll.Env{Now: time.Now, Clock: func() int64 { return 0 }, Late: &lateness.Tracker{}}
	return NewTargets(env, &poll.Times{}, nil)
}

// HashName is Hash of Key, whatever the name.
func TestHashName(t *testing.T) {
	for _, name := range []string{"nasa", "@NASA", "Bob@Example.com", "Ünal", "https://Example.com/Feed", "HTTP://EXAMPLE.com?A", "feeds:https://Example.com/A"} {
		if HashName(name) != Hash(Key(name)) {
			t.Errorf("%q: HashName is not Hash of Key", name)
		}
	}
}
