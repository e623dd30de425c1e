package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/streamwatch/streamwatch/record"
)

// recordWholeCases end calls and stores at any moment: a change is made whole or not at all.
func recordWholeCases() []storeCase {
	return []storeCase{
		{name: "Apply is made whole or not at all when its context ends", run: func(t *storeTest) {
			for n := range mostLooks {
				owner := fmt.Sprint("owner ", n)
				old, m := newMonitor(owner, fmt.Sprint("old ", n)), newMonitor(owner, fmt.Sprint("m ", n))
				t.put(old, newEndpoint(owner, old.ID, fmt.Sprint("old ", n)))
				c := record.Change{
					Delete: []record.Ref{refOf(owner, old.Key, 0)}, Put: []record.Record{m, newEndpoint(owner, m.ID, fmt.Sprint("e ", n))},
					Need: []record.Ref{refOf(owner, m.Key, 0)}, Notes: []record.Note{{Ref: refOf(owner, m.Key, 0), Text: "noted"}},
				}
				after := t.last()
				seen := func() string {
					s := t.list(record.Query{Owner: owner, Kind: record.Monitor, Limit: 9}) + ", " + t.list(record.Query{Owner: owner, Kind: record.Endpoint, Limit: 9})
					return fmt.Sprint(s, ", ", len(t.since(after)), " entries")
				}
				none, all := seen(), fmt.Sprintf("m %d of 1, e %d of 1, 4 entries", n, n)
				ctx := endAfter(t.Context(), n)
				_, err := t.store.Ports().Records.Apply(ctx, c)
				ended := ctx.over()
				whole := func() bool { got := seen(); return got == all || err != nil && got == none }
				kept := whole()
				if !kept { // a server may complete a request after the call has returned
					kept = whole()
				}
				if !kept {
					t.Fatalf("Apply kept a part of a change when its context ended at look %d: got %q, want %q (the error is %v)", n+1, seen(), all, err)
				}
				if !ended {
					t.ok(err, "Apply whose context did not end")
					return
				}
			}
		}},
		{name: "changes beside the end of the store are whole or not there after a restart", needs: needsDurable, run: func(t *storeTest) {
			for round := range sized(2, 6) {
				wholeAfterRestart(t, round)
			}
		}},
	}
}

// wholeAfterRestart ends the store while four goroutines make changes of three records and a
// value, and reads what is left.
func wholeAfterRestart(t *storeTest, round int) {
	const enough, most = 3, 300
	type outcome struct{ done int } // changes acknowledged
	outcomes := make([]outcome, 4)
	records, state, before := t.store.Ports().Records, t.store.Ports().State, t.last()
	var wg, ready sync.WaitGroup
	id := func(w, i int) string { return fmt.Sprint(round, " ", w, " ", i) }
	for w := range outcomes {
		ready.Add(1)
		wg.Go(func() {
			for i := range most {
				if i == enough {
					ready.Done()
				}
				c := record.Change{Put: []record.Record{newMonitor("acme", id(w, i)), newEndpoint("acme", id(w, i), id(w, i))}}
				if i > 0 {
					c.Delete = []record.Ref{refOf("acme", monitorKey(id(w, i-1)), 0)}
				}
				_, err := records.Apply(context.Background(), c)
				if err == nil {
					_, err = state.Swap(context.Background(), record.Name{Space: "s", Owner: "acme", ID: id(w, i)}, 0, []byte("x"), 0)
					outcomes[w].done = i + 1
				}
				if err != nil {
					if i < enough {
						t.Errorf("a call failed before the store was closed: %v", err)
						ready.Done()
					}
					return
				}
			}
		})
	}
	ready.Wait()
	t.reopen()
	wg.Wait()
	for w, o := range outcomes {
		var there []int // changes whose monitor or endpoint is there
		for i := max(o.done-2, 0); i <= o.done; i++ {
			_, err1 := t.store.Ports().Records.Get(t.Context(), "acme", monitorKey(id(w, i)))
			_, err2 := t.store.Ports().Records.Get(t.Context(), "acme", endpointKey(id(w, i)))
			if (err1 == nil) != (err2 == nil) {
				t.Fatalf("after a restart change %d has its monitor (%v) or its endpoint (%v) alone: a change is made whole or not at all", i, err1, err2)
			}
			if err1 == nil {
				there = append(there, i)
			} else if !errors.Is(err1, record.ErrNotFound) {
				t.ok(err1, "Get")
			}
		}
		if len(there) != 1 || there[0] != o.done-1 && there[0] != o.done {
			t.Fatalf("after a restart of %d acknowledged changes, each of which replaces the one before, the last two and the next have left %v", o.done, there)
		}
		for i := range o.done - 1 {
			_, err := t.store.Ports().State.Get(t.Context(), record.Name{Space: "s", Owner: "acme", ID: id(w, i)})
			t.ok(err, "Get of a value that Swap has acknowledged, after a restart")
		}
	}
	entries := map[record.Key]int{}
	for _, e := range t.since(before) {
		entries[e.Key]++
	}
	for _, kind := range []record.Kind{record.Monitor, record.Endpoint} {
		for _, r := range t.scan(kind) {
			if of, _, _ := strings.Cut(r.ID, " "); of == fmt.Sprint(round) && entries[r.Key] != 1 {
				t.Fatalf("after a restart the feed has %d entries of a record that was put once: they are made with the change", entries[r.Key])
			}
		}
	}
	expect(t, t.put(newMonitor("acme", fmt.Sprint("later ", round))), t.last(), "the feed goes on after a restart")
}
