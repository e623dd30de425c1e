package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// link is one of the numbers that workers write to a part, as an event in the store has it.
type link struct {
	Term  string
	Taken uint64
	N     uint64
}

// tenure is a period in which a term had a part. A term can have the same part several times, each
// time from another generation on.
type tenure struct {
	part  fleet.Part
	term  string
	taken uint64
}

// chains records the numbers that the store has confirmed to workers, for all parts.
type chains struct {
	mu      sync.Mutex
	acked   map[tenure]uint64 // the highest number
	term    [fleet.Parts]string
	handed  int // hand-overs, an estimate: lines of different workers arrive in any order
	refused int
	last    time.Time // when a number was confirmed last
}

func newChains() *chains { return &chains{acked: make(map[tenure]uint64), last: time.Now()} }

// heard records a line of a worker.
func (c *chains) heard(s written) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.Refused {
		c.refused++
	}
	for _, a := range s.Acks {
		t := tenure{a.Part, s.Term, a.Taken}
		if c.acked[t] == 0 && c.term[a.Part] != s.Term {
			if c.term[a.Part] != "" {
				c.handed++
			}
			c.term[a.Part] = s.Term
		}
		c.acked[t] = max(c.acked[t], a.N)
		c.last = time.Now()
	}
}

// counts returns the number of hand-overs and of refused commits so far, and the time since the
// last confirmed number.
func (c *chains) counts() (handed, refused int, silence time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.handed, c.refused, time.Since(c.last)
}

// verdict compares the store with the confirmed numbers.
type verdict struct {
	writes, handovers    int
	stale, doubled, lost int
	found                []violation
}

func (v *verdict) add(count *int, invariant, format string, args ...any) {
	*count++
	v.found = append(v.found, violation{invariant, fmt.Sprintf(format, args...)})
}

// check compares the numbers that the store has for a part with the confirmed ones. list is in the
// order of the commits.
func (v *verdict) check(p fleet.Part, list []link, acked map[tenure]uint64) {
	v.writes += len(list)
	v.order(p, list)
	there, have, high := make(map[uint64]bool), make(map[tenure]uint64), uint64(0)
	for _, l := range list {
		if there[l.N] {
			v.add(&v.doubled, "doubled", "part %d: number %d was written twice", p, l.N)
		}
		there[l.N], high = true, max(high, l.N)
		have[tenure{p, l.Term, l.Taken}] = l.N
	}
	for n := uint64(1); n <= high; n++ {
		if !there[n] {
			v.add(&v.lost, "lost", "part %d: number %d of %d is missing", p, n, high)
		}
	}
	for t, n := range acked {
		if t.part == p && have[t] < n {
			v.add(&v.lost, "lost", "part %d: number %d was confirmed to term %s, and is not there", p, n, t.term)
		}
	}
}

// order finds writes of a term that no longer had the part (F1). Such a write comes after a write
// of a later term. Or the later term did not see it in the store when it took the part, and began
// with the same number.
func (v *verdict) order(p fleet.Part, list []link) {
	ended := make(map[tenure]bool)
	var now tenure
	for i, l := range list {
		t := tenure{p, l.Term, l.Taken}
		switch {
		case ended[t]:
			v.add(&v.stale, "F1", "part %d: number %d was written by term %s, which had lost it to %s", p, l.N, l.Term, now.term)
			continue
		case t == now:
			continue
		}
		if now.term != "" {
			ended[now] = true
			if now.term != t.term {
				v.handovers++
			}
			for _, before := range list[:i] {
				if before.Term == now.term && before.Taken == now.taken && before.N >= l.N {
					v.add(&v.stale, "F1", "part %d: number %d was written by term %s after %s had taken the part", p, before.N, before.Term, l.Term)
				}
			}
		}
		now = t
	}
}

// links reads the numbers of a part from the store, in the order of their commits.
func links(ctx context.Context, store storage.Store, p fleet.Part) (list []link, err error) {
	for after := uint64(0); ; {
		events, err := store.Ports().Log.Events(ctx, ownerOf(p), after, portPage)
		if err != nil {
			return nil, err
		}
		for _, e := range events {
			var l link
			if err := json.Unmarshal(e.Body, &l); err != nil {
				return nil, fmt.Errorf("crashtest: event %s: %w", e.ID, err)
			}
			list, after = append(list, l), e.Seq
		}
		if len(events) < portPage {
			return list, nil
		}
	}
}
