package accounts

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/internal/lateness"
)

// Sources come, change and go; what is kept of them and of their accounts is what
// is still watched, and nothing else.
func TestNothingIsKeptOfWhatWent(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	table := newTargets()
	watched := map[string]map[string]bool{} // by source, accounts
	set := func(id string, names map[string]bool) {
		src, _ := table.setSource(Terms{Source: poll.Source{Source: deliver.Source{ID: id}}, Interval: time.Minute, Weight: 1})
		var slots []int32
		for slot := int32(0); slot < 64; slot++ { // in the order of slots, as setAccounts wants them
			name := fmt.Sprint("account", slot)
			if !names[name] {
				continue
			}
			at, ok := table.Find(HashName(name), name)
			if !ok {
				at = table.add("@" + name)
			}
			table.subscribe(at, src, time.Unix(int64(rng.IntN(3)), 0), time.Time{}, false)
			if rng.IntN(4) == 0 {
				table.setUserID(at, []string{"", "42", "did:plc:x"}[rng.IntN(3)])
			}
			slots = append(slots, at)
		}
		for i := range slots { // few: as good as any
			for j := range i {
				if slots[i] < slots[j] {
					slots[i], slots[j] = slots[j], slots[i]
				}
			}
		}
		table.setAccounts(src, slots, nil, func(slot int32) {
			table.leave(slot, src)
			if !table.At(slot).Watched {
				table.Polls.Release(slot)
			}
		})
		table.pack()
		watched[id] = names
	}
	for range 2000 {
		names := map[string]bool{}
		for range rng.IntN(20) {
			names[fmt.Sprint("account", rng.IntN(64))] = true
		}
		set(fmt.Sprint("s", rng.IntN(6)), names)
	}
	subscribers := map[string]int{}
	sources := 0
	for _, names := range watched {
		if len(names) > 0 {
			sources++
		}
		for name := range names {
			subscribers[name]++
		}
	}
	shared, lists := 0, 0
	for slot := range table.size {
		if table.at(slot).more != nil {
			lists++
		}
	}
	for name, n := range subscribers {
		slot, ok := table.Find(HashName(name), name)
		if !ok || table.Username(slot) != name || table.subscribers(slot) != n {
			t.Fatalf("%s has slot %d, %v and %d subscribers, want %d", name, slot, ok, table.subscribers(slot), n)
		}
		if n > 1 {
			shared++
		}
	}
	if used := int(table.Size()) - len(table.free); used != len(subscribers) || table.roster.n != used || lists != shared || len(table.sources) != sources {
		t.Errorf("%d slots, %d of them found, %d shared, %d sources; want %d, as many, %d and %d",
			used, table.roster.n, lists, len(table.sources), len(subscribers), shared, sources)
	}
	for id := range watched {
		set(id, nil)
	}
	if wants := len(table.wants.list) - len(table.wants.free); wants != 0 || len(table.sources) != 0 || table.roster.n != 0 || table.names.live != 0 {
		t.Errorf("%d beginnings, %d sources, %d accounts and %d bytes of names are left", wants, len(table.sources), table.roster.n, table.names.live)
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
