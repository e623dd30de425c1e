package storetest

import (
	"errors"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// A race has several rounds. In each round raceWorkers goroutines, half of them on each of two
// stores, make raceCalls calls each. All make their first call at the same time, then all make
// their second, and so on.
const (
	raceWorkers = 4
	raceCalls   = 12
)

func raceRounds() int { return sized(4, 12) }

// race runs one round. call makes call i of worker w through store t.
func race(one, two *storeTest, call func(t *storeTest, w, i int) error) {
	one.Helper()
	failed := make([]error, raceWorkers)
	var wg sync.WaitGroup
	var here [raceCalls]sync.WaitGroup // waits until every worker is ready to make call i
	for i := range here {
		here[i].Add(raceWorkers)
	}
	for w := range raceWorkers {
		wg.Go(func() {
			for i := range here {
				here[i].Done()
				here[i].Wait()
				if failed[w] == nil { // else the others are not left waiting
					failed[w] = call([]*storeTest{one, two}[w%2], w, i)
				}
			}
		})
	}
	wg.Wait()
	one.ok(errors.Join(failed...), "a call that races with those through another store")
}

// raceCases make concurrent calls through two stores that share data but no memory. Thus a lock in
// the memory of one store does not stop the other.
func raceCases() []storeCase {
	return []storeCase{
		shared("commits that race give an event one number", raceCommits),
		shared("claims that race give a delivery once", raceClaims),
		shared("reservations that race reserve no more than there is", raceReservations),
		shared("entries that race are all there", raceEntries),
		shared("calls that race lose nothing of each other", raceAll),
	}
}

// numberedWithoutHoles ends the case unless acme has n events, numbered from 1 to n.
func numberedWithoutHoles(t *storeTest, n int) {
	t.Helper()
	evs := t.events("acme")
	if len(evs) != n {
		t.Fatalf("%d events are there, want %d: a Commit through one store was lost to a call through the other", len(evs), n)
	}
	for i, ev := range evs {
		if ev.Seq != uint64(i+1) {
			t.Fatalf("event %d has number %d: Commits through two stores have to share the numbers", i+1, ev.Seq)
		}
	}
}

func raceBalance(t *storeTest, want string) {
	t.Helper()
	if got := t.balance("acme"); got != want {
		t.Fatalf("the balance is %s, want %s: a call through one store was lost to a call through the other, or made twice", got, want)
	}
}

// raceCommits commits, in each call, the same post from all workers and one more from each.
func raceCommits(one, two *storeTest) {
	rounds := raceRounds()
	one.topUp("acme", billing.Credits(rounds*raceCalls))
	for r := range rounds {
		var mu sync.Mutex
		var events, deliveries int
		race(one, two, func(t *storeTest, w, i int) error {
			b := &detect.Batch{
				Events:    []deliver.Event{newEvent(acme, fmt.Sprint(r, "-", i), "log"), newEvent(acme, fmt.Sprint(r, "-", i, "-", w), "log")},
				Charges:   []billing.Entry{line(fmt.Sprint(r, "-", i), -1)},
				DeliverBy: t.start,
			}
			err := t.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{b})
			mu.Lock()
			defer mu.Unlock()
			deliveries += len(b.Deliveries)
			for _, ev := range b.Events {
				if ev.Seq != 0 {
					events++
				}
			}
			return err
		})
		const each = raceCalls * (1 + raceWorkers)
		if events != each || deliveries != each {
			one.Fatalf("Commits of %d events through two stores gave %d numbers and %d deliveries: of two Commits of one event exactly one may be told that it is new", each, events, deliveries)
		}
		numberedWithoutHoles(one, (r+1)*each)
		raceBalance(one, fmt.Sprintf("%d+0", (rounds-r-1)*raceCalls))
	}
}

// claimedOnce counts how often each delivery was claimed.
type claimedOnce struct {
	mu    sync.Mutex
	times map[string]int
}

func (c *claimedOnce) claim(t *storeTest, limit int) error {
	ds, err := t.store.Ports().Outbox.Claim(t.Context(), deliver.ClaimRequest{Now: t.start, Lease: lease, Limit: limit})
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range ds {
		c.times[d.ID]++
	}
	return err
}

// check ends the case unless want deliveries were claimed, each of them once.
func (c *claimedOnce) check(t *storeTest, want int) {
	t.Helper()
	for id, n := range c.times {
		if n > 1 {
			t.Fatalf("Claim gave delivery %s %d times within its lease, through two stores", id, n)
		}
	}
	if len(c.times) != want {
		t.Fatalf("Claims through two stores gave %d deliveries of %d that are due", len(c.times), want)
	}
}

func raceClaims(one, two *storeTest) {
	const due = raceWorkers * raceCalls
	rounds, claimed := raceRounds(), &claimedOnce{times: map[string]int{}}
	for r := range rounds {
		var evs []deliver.Event
		for i := range due {
			evs = append(evs, newEvent(acme, fmt.Sprint(r, "-", i), "log"))
		}
		one.commitDue(one.start, evs...)
		race(one, two, func(t *storeTest, _, _ int) error { return claimed.claim(t, 2) })
		claimed.check(one, (r+1)*due)
	}
}

// raceReservations: the credits suffice for half of the calls.
func raceReservations(one, two *storeTest) {
	const half = raceWorkers * raceCalls / 2
	for r := range raceRounds() {
		one.ok(one.store.Ports().Ledger.Append(one.Context(), line(fmt.Sprint("top-up ", r), half)), "Ledger.Append")
		var mu sync.Mutex
		made := 0
		race(one, two, func(t *storeTest, w, i int) error {
			err := t.store.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: fmt.Sprint(r, "-", w, "-", i), Owner: "acme", Amount: 1})
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case errors.Is(err, billing.ErrInsufficient):
				err = nil
			}
			return err
		})
		if made != half {
			one.Fatalf("%d reservations of 1 were made through two stores, of %d credits", made, half)
		}
		raceBalance(one, fmt.Sprintf("0+%d", (r+1)*half))
	}
}

// raceEntries appends, in each call, the same entry from all workers and one more from each.
func raceEntries(one, two *storeTest) {
	const each = raceCalls * (1 + raceWorkers)
	rounds := raceRounds()
	for r := range rounds {
		race(one, two, func(t *storeTest, w, i int) error {
			return t.store.Ports().Ledger.Append(t.Context(), line(fmt.Sprint(r, "-", i), 1), line(fmt.Sprint(r, "-", i, "-", w), 1))
		})
		raceBalance(one, fmt.Sprintf("%d+0", (r+1)*each))
	}
	p, err := one.store.Ports().Ledger.Entries(one.Context(), billing.EntryQuery{Owner: "acme", Asc: true, PageSize: 10_000})
	one.ok(err, "Ledger.Entries")
	for i, e := range p.Entries {
		if e.Balance != billing.Credits(i+1) {
			one.Fatalf("entry %d of those that raced has balance %d: it is the sum of the entries up to it", i+1, e.Balance)
		}
	}
	expect(one, len(p.Entries), rounds*each, "entries that raced through two stores are not all there")
}

// raceAll makes calls of different kinds at the same time.
func raceAll(one, two *storeTest) {
	const credits, each = 10_000, raceWorkers * raceCalls / 4 // calls of one kind in a round
	one.topUp("acme", credits)
	rounds, claimed := raceRounds(), &claimedOnce{times: map[string]int{}}
	for r := range rounds {
		race(one, two, func(t *storeTest, w, i int) error {
			id := fmt.Sprint(r, "-", w, "-", i)
			switch (w + i) % 4 {
			case 0:
				return t.store.Ports().Journal.Commit(t.Context(), []*detect.Batch{{
					Events: []deliver.Event{newEvent(acme, id, "log")}, Charges: []billing.Entry{line("charge "+id, -2)}, DeliverBy: t.start,
				}})
			case 1:
				return claimed.claim(t, 1)
			case 2:
				return t.store.Ports().Ledger.Reserve(t.Context(), billing.Reservation{ID: id, Owner: "acme", Amount: 3})
			default:
				return t.store.Ports().Ledger.Append(t.Context(), line("entry "+id, 1))
			}
		})
		done := (r + 1) * each
		numberedWithoutHoles(one, done)
		raceBalance(one, fmt.Sprintf("%d+%d", credits-4*done, 3*done))
	}
	one.ok(claimed.claim(one, 10_000), "Outbox.Claim")
	claimed.check(one, rounds*each)
}
