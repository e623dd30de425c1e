package engineui

import (
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
)

// Of a commit with many events each client gets its own, however many of others come after
// them, and is told how many there was no room for.
func TestTailOfALargeCommit(t *testing.T) {
	const all, few = 500, 10
	var events []deliver.Event
	for i := range all {
		e := deliver.Event{Seq: uint64(i + 1), Source: deliver.Source{Owner: "acme"}}
		if i < few {
			e.Source.Owner = "globex"
		}
		events = append(events, e)
	}
	published := newTail()
	for _, row := range []struct {
		name                 string
		scope                scope
		items, last, dropped int
	}{
		{"globex", scope{owner: "globex"}, few, few, 0},
		{"acme", scope{owner: "acme"}, tailQueue, all, all - few - tailQueue},
		{"an operator", scope{all: true}, tailQueue, all, all - tailQueue},
		{"another", scope{owner: "initech"}, 0, 0, 0},
	} {
		c := &tailClient{scope: row.scope, group: row.name, wake: make(chan struct{}, 1)}
		if err := published.join(c); err != nil {
			t.Fatal(err)
		}
		published.publish(events)
		items, dropped := published.take(c)
		published.leave(c)
		last := 0
		for i := range items {
			if n := int(items[i].Seq); i > 0 && n != last+1 {
				t.Errorf("%s: event %d after %d", row.name, n, last)
			} else {
				last = n
			}
		}
		if len(items) != row.items || last != row.last || dropped != row.dropped {
			t.Errorf("%s: %d events up to %d, %d left out, want %d up to %d, %d left out", row.name, len(items), last, dropped, row.items, row.last, row.dropped)
		}
	}
	if newest := published.latest(scope{all: true}); len(newest) != tailShown || newest[0].Seq != all {
		t.Errorf("%d of the newest events are kept, the last is %v", len(newest), newest)
	}
}
