package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/record"
)

const entriesKept = 10_000 // entries that a store keeps at least

// recordFeedCases are about the feed.
func recordFeedCases() []storeCase {
	return []storeCase{
		{name: "each change of a record has an entry, numbered 1, 2, 3 …", run: func(t *storeTest) {
			list, last, err := t.store.Ports().Records.Since(t.Context(), 0, 10)
			t.ok(err, "Since on an empty store")
			expect(t, fmt.Sprint(len(list), last), "0 0", "the feed of an empty store is empty")
			m, e := newMonitor("acme", "m"), newEndpoint("acme", "m", "e")
			expect(t, t.put(m, e), 2, "Apply has to return the number of its last entry")
			list, _, err = t.store.Ports().Records.Since(t.Context(), 0, 10)
			t.ok(err, "Since")
			expect(t, fmt.Sprint(list), "[{1 {monitor m} acme} {2 {endpoint e} acme}]", "the entries of a change come in its order")
			m.Version = 1
			expect(t, t.put(m), 3, "an update has an entry")
			t.apply(record.Change{Gone: &record.Gone{Owner: "globex", Until: t.at(3600)}})
			expect(t, t.apply(record.Change{Gone: &record.Gone{Owner: "globex"}}), 5, "Gone has an entry, also when it ends")
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", m.Key, 0)}})
			expect(t, t.apply(record.Change{}), 0, "an empty change has no entry")
			want := "endpoint=acme/e endpoint=acme/e monitor=acme/m monitor=acme/m monitor=acme/m owner=/5bc1a08d28e40fe79ca3ecb077b3bd14 owner=/5bc1a08d28e40fe79ca3ecb077b3bd14"
			expect(t, entriesOf(t.since(0)), want, "the feed has to have an entry for each record put or deleted, and for Gone one with record.OwnerID and no name")
			for _, row := range []struct {
				after uint64
				limit int
				want  string
			}{{0, 2, "[1 2]"}, {2, 2, "[3 4]"}, {6, 9, "[7]"}, {7, 9, "[]"}, {0, 0, "[]"}, {6, 1 << 30, "[7]"}} {
				list, last, err := t.store.Ports().Records.Since(t.Context(), row.after, row.limit)
				t.ok(err, "Since")
				ns := []uint64{}
				for _, e := range list {
					ns = append(ns, e.N)
				}
				expect(t, fmt.Sprint(ns), row.want, "Since(%d, %d) has to give the entries above the first, up to the second", row.after, row.limit)
				expect(t, last, 7, "Since has to return the last number of all, whatever its limit")
			}
		}},
		{name: "ErrTooOld brings the last number", run: func(t *storeTest) {
			var c record.Change
			for i := range record.MaxChange {
				c.Put = append(c.Put, record.Record{Key: monitorKey(fmt.Sprint(i)), Owner: "acme"})
			}
			n, tooOld := uint64(0), false
			for ; !tooOld && n < 6*entriesKept; c.Put[0].Version++ {
				for i := range c.Put {
					c.Put[i].Version = c.Put[0].Version
				}
				n = t.apply(c)
				_, last, err := t.store.Ports().Records.Since(t.Context(), 0, 1)
				expect(t, last, n, "Since has to return the last number, with ErrTooOld, too (%v)", err)
				if tooOld = errors.Is(err, record.ErrTooOld); !tooOld {
					t.ok(err, "Since")
				}
			}
			if tooOld && n <= entriesKept {
				t.Errorf("the feed has forgotten entries after %d: it keeps 10,000", n)
			}
			kept := n - min(n, entriesKept)
			expect(t, len(t.since(kept)), int(n-kept), "the last 10,000 entries are kept")
			for _, after := range []uint64{n + 1, 1 << 40} {
				_, last, err := t.store.Ports().Records.Since(t.Context(), after, 1)
				t.refused(err, record.ErrTooOld, "Since above the last number has to return ErrTooOld: the store has lost its last writes")
				expect(t, last, n, "ErrTooOld has to bring the last number")
			}
		}},
		{name: "entries are in the order of the commits, without a hole beside 16 writers", run: onTwo(feedBesideWriters)},
		{name: "the feed goes on after a restart", needs: needsDurable, run: func(t *storeTest) {
			t.furnishRecords()
			before := t.since(0)
			t.reopen()
			t.same(t.since(0), before, "the feed has to be there after a restart")
			expect(t, t.put(newMonitor("acme", "later")), uint64(len(before)+1), "the numbers of the feed go on after a restart")
		}},
	}
}

// feedBesideWriters follows the feed while 16 writers create a record each and try to update a
// common one.
func feedBesideWriters(one, two *storeTest) {
	const writers = 16
	common := newMonitor("acme", "common")
	one.put(common)
	var mu sync.Mutex
	numbers := map[uint64]record.Key{1: common.Key} // the record of each Apply by the number returned
	var followed []record.Entry
	follow := func() {
		list, _, err := two.store.Ports().Records.Since(two.Context(), uint64(len(followed)), 7)
		two.ok(err, "Since beside writers")
		for _, e := range list {
			two.get(e.Owner, e.Key) // is there: an entry and its record are one transaction
		}
		followed = append(followed, list...)
	}
	beside(one, sized(5, 20), func(ctx context.Context, round int) error {
		var errs [writers]error
		together(writers, func(w int) {
			t := []*storeTest{one, two}[w%2]
			update := edited(common, func(r *record.Record) { r.Version = int64(round + 1) })
			for _, r := range []record.Record{newMonitor("acme", fmt.Sprint(round, " ", w)), update} {
				n, err := t.store.Ports().Records.Apply(ctx, record.Change{Put: []record.Record{r}})
				mu.Lock()
				switch {
				case err == nil:
					numbers[n] = r.Key
				case r.Version == 0 || !errors.Is(err, record.ErrConflict):
					errs[w] = err
				}
				mu.Unlock()
			}
		})
		return errors.Join(errs[:]...)
	}, follow)
	for before := -1; before < len(followed); follow() {
		before = len(followed)
	}
	expect(two, len(followed), len(numbers), "the feed has one entry for each change")
	for i, e := range followed {
		if e.N != uint64(i+1) || e.Key != numbers[e.N] {
			two.Fatalf("entry %d of a follower is %d of %v, want %d of %v: no number is seen before a lower one, and Apply returns its own", i+1, e.N, e.Key, i+1, numbers[uint64(i+1)])
		}
	}
}

// goneCases are about owners that a store refuses.
func goneCases() []storeCase {
	hour := time.Hour
	gone := func(t *storeTest) {
		t.apply(record.Change{Gone: &record.Gone{Owner: "acme", Until: t.start.Add(hour)}})
	}
	// refused fails the case unless the store refuses acme, and no other owner.
	refused := func(t *storeTest, yes bool, when string) {
		t.Helper()
		var want error
		if yes {
			want = record.ErrGone
		}
		r := newMonitor("acme", "created "+when)
		_, err := t.store.Ports().Records.Apply(t.Context(), record.Change{Put: []record.Record{newMonitor("globex", "with it "+when), r}})
		t.refused(err, want, "%s Put for the owner", when)
		var of *record.Error
		if yes && (!errors.As(err, &of) || of.Key != r.Key) {
			t.Errorf("%s ErrGone has to be an *Error of the owner's record (it is %#v)", when, err)
		}
		_, err = t.store.Ports().State.Swap(t.Context(), record.Name{Space: "answers", Owner: "acme", ID: when}, 0, []byte("x"), hour)
		t.refused(err, want, "%s Swap with a ttl for the owner", when)
		_, err = t.store.Ports().State.Swap(t.Context(), record.Name{Space: "spend", Owner: "acme", ID: when}, 0, []byte("x"), 0)
		t.refused(err, nil, "%s Swap without a ttl is the engine's own", when)
		_, err = t.store.Ports().State.Swap(t.Context(), record.Name{Space: "answers", Owner: "globex", ID: when}, 0, []byte("x"), hour)
		t.refused(err, nil, "%s Swap for another owner", when)
		_, err = t.store.Ports().Records.Apply(t.Context(), record.Change{Put: []record.Record{newMonitor("globex", "theirs "+when), newMonitor("", "nobody's "+when)}})
		t.refused(err, nil, "%s Put for other owners", when)
		expect(t, t.recorded(when), map[bool]string{true: "false true, 1 deliveries, unpaid [], charged 1", false: "true true, 2 deliveries, unpaid [], charged 2"}[yes],
			"%s Journal.Commit drops events and charges of the owner exactly while it is refused", when)
	}
	return []storeCase{
		{name: "a refused owner is refused until it is lifted", run: func(t *storeTest) {
			m, k := newMonitor("acme", "m"), newMonitor("acme", "k")
			t.put(m, k)
			refused(t, false, "before Gone")
			gone(t)
			refused(t, true, "after Gone")
			m.Version = 1
			t.refuse(record.Change{Put: []record.Record{m}}, record.ErrGone, "an update is a Put, too", m.Key)
			t.refuse(record.Change{Delete: []record.Ref{refOf("acme", k.Key, 7)}, Put: []record.Record{m}}, record.ErrGone, "ErrGone comes before a conflict", m.Key)
			t.apply(record.Change{Delete: []record.Ref{refOf("acme", m.Key, 1)}, Notes: []record.Note{{Ref: refOf("acme", k.Key, 1), Text: "x"}}})
			t.absent("acme", m.Key, "the records of a refused owner can be deleted")
			expect(t, t.get("acme", k.Key).Note, "x", "the records of a refused owner can be read and noted")
			t.apply(record.Change{Gone: &record.Gone{Owner: "acme"}})
			refused(t, false, "once it is lifted")
		}},
		{name: "a refused owner is refused until the store's clock has passed the time", needs: needsClock, run: func(t *storeTest) {
			gone(t)
			t.kit.Clock.Advance(hour - time.Microsecond)
			refused(t, true, "before its end")
			t.kit.Clock.Advance(time.Microsecond)
			refused(t, false, "at its end")
			gone(t)
			refused(t, false, "with an end that has passed")
			t.apply(record.Change{Gone: &record.Gone{Owner: "acme", Until: t.start.Add(9 * hour)}})
			t.apply(record.Change{Gone: &record.Gone{Owner: "acme", Until: t.start.Add(3 * hour)}})
			refused(t, true, "when it is told again")
			t.kit.Clock.Advance(3 * hour)
			refused(t, false, "at the end that was told last")
		}},
		{name: "what was dropped of a refused owner is unknown", run: func(t *storeTest) {
			gone(t)
			t.recorded("x")
			expect(t, len(t.cursors("x")), 1, "Journal.Commit has to record the cursors of a refused owner's batch")
			expect(t, t.logged("acme"), "", "Journal.Commit stored an event of a refused owner")
			t.apply(record.Change{Gone: &record.Gone{Owner: "acme"}})
			expect(t, t.recorded("x"), "true false, 1 deliveries, unpaid [], charged 1", "an event and a charge that were dropped are new when they come again")
			expect(t, t.logged("acme"), "1:x", "an event that was dropped uses up no number")
		}},
		{name: "the owner \"\" can be refused, and no other one with it", run: func(t *storeTest) {
			t.apply(record.Change{Gone: &record.Gone{Until: t.start.Add(hour)}})
			t.refuse(record.Change{Put: []record.Record{newMonitor("", "m")}}, record.ErrGone, "Put for the refused owner \"\"", monitorKey("m"))
			t.put(newMonitor("acme", "m"))
		}},
		{name: "a refused owner is refused after a restart", needs: needsDurable, run: func(t *storeTest) {
			gone(t)
			t.reopen()
			refused(t, true, "after a restart")
		}},
		{name: "Erase removes an owner's records and passing values, and no more", run: eraseRecords},
	}
}
