package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// fleetBooks are what the workers of a fleet have said.
type fleetBooks struct {
	mu    sync.Mutex
	acked map[tenure]uint64 // the highest number confirmed
	parts [fleet.Parts]struct {
		term string
		high uint64
	}
	nodes     map[int]*said
	deaths    []death
	stops     []span // of workers that were stopped, and went on
	handovers int    // as far as the lines tell, which come in any order
	refused   int
	again     int
	last      time.Time // of a confirmation
}

// tenure is the time for which a term has had a part.
type tenure struct {
	part  fleet.Part
	term  string
	taken uint64
}

// said is what a worker had at last.
type said struct {
	term string
	own  fleet.Set
}

// death is a kill.
type death struct {
	said
	at time.Time
}

// span is from one time to another.
type span struct{ from, to time.Time }

func newFleetBooks() *fleetBooks {
	return &fleetBooks{acked: make(map[tenure]uint64), nodes: make(map[int]*said), last: time.Now()}
}

// heard notes a line of a worker.
func (b *fleetBooks) heard(node int, s *fleetSaid) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.Own != nil {
		b.nodes[node] = &said{s.Term, *s.Own}
	}
	b.again += s.Again
	if s.Refused != "" {
		b.refused++
	}
	for _, a := range s.Acks {
		t := tenure{a.Part, s.Term, a.Taken}
		p := &b.parts[a.Part]
		if _, known := b.acked[t]; !known {
			if p.term != "" && p.term != s.Term {
				b.handovers++
			}
			p.term = s.Term
		}
		b.acked[t] = max(b.acked[t], a.N)
		p.high = max(p.high, a.N)
		b.last = time.Now()
	}
}

// ended notes that a worker is killed now.
func (b *fleetBooks) ended(node int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.nodes[node]; s != nil {
		b.deaths = append(b.deaths, death{*s, time.Now()})
		delete(b.nodes, node)
	}
}

// stopped notes that a worker stood still from then till now.
func (b *fleetBooks) stopped(from time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = append(b.stops, span{from, time.Now()})
}

// counts are the hand-overs and the refusals so far.
func (b *fleetBooks) counts() (handed, refused int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.handovers, b.refused
}

func (b *fleetBooks) silence() time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	return time.Since(b.last)
}

// high has the highest number of each part that was confirmed.
func (b *fleetBooks) high() *goals {
	b.mu.Lock()
	defer b.mu.Unlock()
	var g goals
	for p := range b.parts {
		g[p] = b.parts[p].high
	}
	return &g
}

// behind are the parts of which no number above the goal is confirmed.
func (b *fleetBooks) behind(g *goals) (left fleet.Set) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for p := range b.parts {
		if b.parts[p].high <= g[p] {
			left.Add(fleet.Part(p))
		}
	}
	return left
}

// verdict is what the store has, beside the books.
type verdict struct {
	writes, handovers    int
	stale, doubled, lost int
	takeovers            []time.Duration // from a kill to the first write of another term, by part
	longest              time.Duration   // of the takeovers, without the time in which any worker was stopped
	found                []violation
}

// shownOfEach bounds the violations of one kind that are kept in words.
const shownOfEach = 5

// check compares the store with the books. forgetful is a store that may lose what it
// has confirmed, as long as it is made up for.
func (b *fleetBooks) check(read func(fleet.Part) ([]link, error), forgetful bool) (v verdict, err error) {
	highest := make([]map[tenure]uint64, fleet.Parts)
	for t, n := range b.acked {
		if highest[t.part] == nil {
			highest[t.part] = make(map[tenure]uint64)
		}
		highest[t.part][t] = n
	}
	for p := range fleet.Part(fleet.Parts) {
		list, err := read(p)
		if err != nil {
			return v, err
		}
		v.writes += len(list)
		v.order(p, list)
		v.numbers(p, list, b.parts[p].high)
		if !forgetful {
			v.confirmed(p, list, highest[p])
		}
		for _, d := range b.deaths {
			if d.own.Has(p) {
				v.takeover(list, d, b.stops)
			}
		}
	}
	slices.Sort(v.takeovers)
	return v, nil
}

func (v *verdict) add(count *int, invariant, format string, args ...any) {
	if *count++; *count <= shownOfEach {
		v.found = append(v.found, violation{invariant, fmt.Sprintf(format, args...)})
	}
}

// order finds writes of terms that did not have the part any more: those which come
// after one of a later term, and those which a later one had not found in the store
// when it took the part, because it began with the same number.
func (v *verdict) order(p fleet.Part, list []link) {
	ended := make(map[tenure]bool)
	stale := make(map[int]bool) // by place in the list
	var now tenure
	for i, l := range list {
		t := tenure{p, l.Term, l.Taken}
		switch {
		case ended[t]:
			stale[i] = true
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
			for k := i - 1; k >= 0 && !l.Filled && !list[k].Filled && list[k].N >= l.N; k-- {
				if !stale[k] {
					v.add(&v.stale, "F1", "part %d: number %d was written by term %s after %s had taken the part", p, list[k].N, list[k].Term, l.Term)
				}
			}
		}
		now = t
	}
}

// numbers finds those that are missing or there twice.
func (v *verdict) numbers(p fleet.Part, list []link, high uint64) {
	have := make(map[uint64]bool)
	for _, l := range list {
		if have[l.N] {
			v.add(&v.doubled, "doubled", "part %d: number %d was written twice", p, l.N)
		}
		have[l.N] = true
		high = max(high, l.N)
	}
	for n := uint64(1); n <= high; n++ {
		if !have[n] {
			v.add(&v.lost, "lost", "part %d: number %d of %d is missing", p, n, high)
		}
	}
}

// confirmed finds writes that a worker was told of and the store does not have.
func (v *verdict) confirmed(p fleet.Part, list []link, highest map[tenure]uint64) {
	have := make(map[tenure]uint64)
	for _, l := range list {
		t := tenure{p, l.Term, l.Taken}
		have[t] = max(have[t], l.N)
	}
	for t, n := range highest {
		if have[t] < n {
			v.add(&v.lost, "lost", "part %d: number %d was confirmed to term %s, and is not there", p, n, t.term)
		}
	}
}

// takeover measures how long a part of a killed worker was not written.
func (v *verdict) takeover(list []link, d death, stops []span) {
	for _, l := range list {
		if l.At.After(d.at) && l.Term != d.term {
			v.takeovers = append(v.takeovers, l.At.Sub(d.at))
			v.longest = max(v.longest, outside(stops, span{d.at, l.At}))
			return
		}
	}
}

// outside is how much of a span lies in none of others.
func outside(others []span, s span) (d time.Duration) {
	for _, o := range slices.SortedFunc(slices.Values(others), func(a, b span) int { return a.from.Compare(b.from) }) {
		if !o.to.After(s.from) || !o.from.Before(s.to) {
			continue
		}
		d += max(0, o.from.Sub(s.from))
		if s.from = o.to; !s.from.Before(s.to) {
			return d
		}
	}
	return d + s.to.Sub(s.from)
}
