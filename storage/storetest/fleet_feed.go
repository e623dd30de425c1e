package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage"
)

// feedKept is the number of changes that a feed must keep at least.
const feedKept = 10_000

func (t *fleetTest) since(after uint64, limit int) []fleet.Change {
	t.Helper()
	cs, err := t.sharing.Feed().Since(t.Context(), after, limit)
	t.ok(err, "Feed.Since")
	return cs
}

func (t *fleetTest) last() uint64 {
	t.Helper()
	n, err := t.sharing.Feed().Last(t.Context())
	t.ok(err, "Feed.Last")
	return n
}

// changed returns all changes as number:kind of owner/id.
func (t *fleetTest) changed() string {
	t.Helper()
	return joined(t.since(0, 1000), func(c fleet.Change) string { return fmt.Sprintf("%d:%s=%s/%s", c.N, c.Kind, c.Owner, c.ID) })
}

// createMonitors creates monitors of acme with these ids.
func (t *fleetTest) createMonitors(ids ...string) {
	t.Helper()
	for _, id := range ids {
		t.ok(t.store.Monitors().Create(t.Context(), monitor.Monitor{ID: id, Owner: "acme", Name: id}), "Monitors.Create")
	}
}

// feedCases test the numbered changes of records.
func feedCases() []storeCase {
	return []storeCase{
		onFleet("each change of a record has its entry", func(t *fleetTest) {
			expect(t.storeTest, t.changed(), "", "the feed of a store that was just opened")
			expect(t.storeTest, t.last(), 0, "Last when there was no change")
			ctx := t.Context()
			t.createMonitors("m")
			t.ok(t.store.Monitors().Update(ctx, monitor.Monitor{ID: "m", Owner: "acme", Name: "changed"}), "Monitors.Update")
			t.ok(t.store.Monitors().Delete(ctx, "acme", "m"), "Monitors.Delete")
			t.ok(t.store.Rules().Create(ctx, rule.Rule{ID: "r", Owner: "globex", Tag: "t"}), "Rules.Create")
			t.ok(t.store.Rules().Update(ctx, rule.Rule{ID: "r", Owner: "globex", Tag: "u"}), "Rules.Update")
			t.ok(t.store.Rules().Delete(ctx, "globex", "r"), "Rules.Delete")
			e := t.endpoint(acme, "e")
			t.ok(t.store.Endpoints().Create(ctx, e), "Endpoints.Create")
			e.Status = deliver.EndpointDisabled
			t.ok(t.store.Endpoints().Update(ctx, e), "Endpoints.Update")
			t.ok(t.store.Endpoints().Delete(ctx, "acme", "e"), "Endpoints.Delete")
			want := "1:monitor=acme/m 2:monitor=acme/m 3:monitor=acme/m 4:rule=globex/r 5:rule=globex/r 6:rule=globex/r 7:endpoint=acme/e 8:endpoint=acme/e 9:endpoint=acme/e"
			expect(t.storeTest, t.changed(), want, "the feed has to have each change of a record, numbered 1, 2, 3 …")
			expect(t.storeTest, t.last(), 9, "Last has to be the number of the last change")
			expect(t.storeTest, t.look().Feed, 9, "State.Feed has to be the number of the last change")
			s, ok := t.store.(storage.Keyed)
			if !ok {
				return
			}
			k := apikey.Key{ID: "k", Owner: "acme", Hash: keyHash(1)}
			t.ok(s.Keys().Create(ctx, k), "Keys.Create")
			t.ok(s.Keys().Update(ctx, k), "Keys.Update")
			t.ok(s.Keys().Delete(ctx, "acme", "k"), "Keys.Delete")
			expect(t.storeTest, t.changed(), want+" 10:key=acme/k 11:key=acme/k 12:key=acme/k", "the feed has to have each change of a key")
		}),
		onFleet("what changes no record has no entry", func(t *fleetTest) {
			ctx := t.Context()
			t.createMonitors("m")
			t.bind(acme, "e")
			before := t.changed()
			t.refused(t.store.Monitors().Create(ctx, monitor.Monitor{ID: "m", Owner: "acme", Name: "n"}), monitor.ErrDuplicate, "Monitors.Create of an id in use")
			t.refused(t.store.Monitors().Update(ctx, monitor.Monitor{ID: "m", Owner: "acme", Name: "m", Version: 7}), monitor.ErrConflict, "Monitors.Update of another version")
			t.refused(t.store.Monitors().Delete(ctx, "globex", "m"), monitor.ErrNotFound, "Monitors.Delete of another owner's")
			t.refused(t.store.Rules().Delete(ctx, "acme", "r"), rule.ErrNotFound, "Rules.Delete of an unknown id")
			t.refused(t.store.Endpoints().Create(ctx, t.endpoint(acme, "e")), deliver.ErrEndpointDuplicate, "Endpoints.Create of an id in use")
			t.refused(t.store.Endpoints().Update(ctx, deliver.Endpoint{ID: "e", Source: acme, Version: 7}), deliver.ErrEndpointConflict, "Endpoints.Update of another version")
			t.refused(t.store.Endpoints().Delete(ctx, "globex", "e"), deliver.ErrEndpointNotFound, "Endpoints.Delete of another owner's")
			t.commitDue(t.start, newEvent(acme, "1"))
			t.settle(attempted(t.claim(t.start, 1)[0].ID, 1, deliver.StateDelivered, t.start))
			t.topUp("acme", 5)
			t.join("n", longLease).beat(wants(5)).leave()
			expect(t.storeTest, t.changed(), before, "the feed has an entry although no record was changed")
		}),
		onFleet("Since gives what follows, in order and up to its limit", func(t *fleetTest) {
			t.createMonitors("1", "2", "3", "4", "5")
			for _, row := range []struct {
				after uint64
				limit int
				want  string
			}{
				{0, 100, "1 2 3 4 5"}, {0, 2, "1 2"}, {2, 2, "3 4"}, {4, 2, "5"}, {5, 2, ""}, {0, 0, ""}, {3, -1, ""}, {3, 1<<31 - 1, "4 5"},
			} {
				got := joined(t.since(row.after, row.limit), func(c fleet.Change) string { return c.ID })
				expect(t.storeTest, got, row.want, "Since(%d, %d) has to give the changes with numbers above the first, up to the second", row.after, row.limit)
			}
			for _, after := range []uint64{6, 1 << 40} {
				_, err := t.sharing.Feed().Since(t.Context(), after, 10)
				t.refused(err, fleet.ErrTooOld, "Since(%d) above the last number, which is 5: the store has lost its last writes", after)
			}
		}),
		onFleet("owners and ids of changes survive as text", func(t *fleetTest) {
			for _, text := range []string{"żółw 🚀", "a\x00b\r\n", `'; DROP TABLE feed; --`, " \t ", "{tag} %s", "acme:b"} {
				after := t.last()
				t.ok(t.store.Monitors().Create(t.Context(), monitor.Monitor{ID: text, Owner: "of " + text, Name: "n"}), "Monitors.Create")
				t.same(t.since(after, 10), []fleet.Change{{N: after + 1, Kind: fleet.Monitor, Owner: "of " + text, ID: text}}, "the change of a record whose id and owner are unusual text")
			}
		}),
		onFleet("the last 10,000 changes are kept", func(t *fleetTest) {
			if testing.Short() {
				t.Skip("makes 10,000 changes")
			}
			const writers = 8
			var wg sync.WaitGroup
			for w := range writers {
				m := monitor.Monitor{ID: fmt.Sprint(w), Owner: "acme", Name: fmt.Sprint(w)}
				t.createMonitors(m.ID)
				wg.Go(func() {
					for ; m.Version < feedKept/writers; m.Version++ {
						if err := t.store.Monitors().Update(t.Context(), m); err != nil {
							t.Errorf("Monitors.Update failed: %v", err)
							return
						}
					}
				})
			}
			wg.Wait()
			last := t.last()
			expect(t.storeTest, last, feedKept+writers, "the number of the last change")
			for n := last - feedKept; n < last; n += 1000 {
				cs := t.since(n, 1000)
				if len(cs) != 1000 || cs[0].N != n+1 || cs[999].N != n+1000 {
					t.Fatalf("Since(%d, 1000) gave %d changes of the last 10,000, want all of them", n, len(cs))
				}
			}
			cs, err := t.sharing.Feed().Since(t.Context(), 0, 10)
			if err == nil && (len(cs) != 10 || cs[0].N != 1) {
				t.Errorf("Since(0, 10) gave %d changes that do not begin with 1, and no error: what is not kept any more has to be %v", len(cs), fleet.ErrTooOld)
			} else if err != nil {
				t.refused(err, fleet.ErrTooOld, "Since of what is not kept any more")
			}
		}),
		onFleet("a number that is seen has none below it to come", twice(raceFeed)),
		onDurableFleet("the feed goes on after a restart", func(t *fleetTest) {
			t.createMonitors("1", "2")
			t.reopen()
			expect(t.storeTest, t.last(), 2, "Last after Reopen")
			t.createMonitors("3")
			expect(t.storeTest, t.changed(), "1:monitor=acme/1 2:monitor=acme/2 3:monitor=acme/3", "after Reopen the feed has to be what it was, and to go on")
		}),
	}
}

// raceFeed creates records in four goroutines through two stores, while two others follow the feed.
// Each follower must find every number in order, and the record of each.
func raceFeed(one, two *fleetTest) {
	const writers, records = 4, 60
	var wg sync.WaitGroup
	for w := range writers {
		t := []*fleetTest{one, two}[w%2]
		wg.Go(func() {
			for i := range records {
				id := fmt.Sprint(w, "-", i)
				err := t.store.Monitors().Create(t.Context(), monitor.Monitor{ID: id, Owner: fmt.Sprint("owner ", w), Name: id})
				if w == 1 {
					err = errors.Join(err, t.store.Rules().Create(t.Context(), rule.Rule{ID: id, Owner: fmt.Sprint("owner ", w), Tag: id}))
				}
				if err != nil {
					one.Errorf("Create beside others failed: %v", err)
					return
				}
			}
		})
	}
	const all = (writers + 1) * records
	for r := range 2 {
		t := []*fleetTest{one, two}[1-r]
		wg.Go(func() { followFeed(t, all) })
	}
	wg.Wait()
	expect(one.storeTest, one.last(), all, "the feed has to have one entry for each record that was created")
}

// followFeed reads a feed until it has seen n changes.
func followFeed(t *fleetTest, n uint64) {
	after := uint64(0)
	for empty := 0; after < n; {
		cs, err := t.sharing.Feed().Since(t.Context(), after, 7)
		if err != nil {
			t.Errorf("Since beside changes failed: %v", err)
			return
		}
		if len(cs) == 0 {
			if empty++; empty > 10_000 || sleep(t.Context(), waitStep) != nil {
				t.Errorf("the feed ends with %d, want %d changes", after, n)
				return
			}
			continue
		}
		empty = 0
		for _, c := range cs {
			if c.N != after+1 {
				t.Errorf("a follower of the feed found number %d after %d: a number that is seen may have none below it to come", c.N, after)
				return
			}
			after = c.N
			if c.Kind == fleet.Monitor {
				_, err = t.store.Monitors().Get(t.Context(), c.Owner, c.ID)
			} else {
				_, err = t.store.Rules().Get(t.Context(), c.Owner, c.ID)
			}
			if err != nil {
				t.Errorf("the feed has change %d, and its record is not there yet (%v): both are one transaction", c.N, err)
				return
			}
		}
	}
}
