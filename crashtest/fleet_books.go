package main

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// fleetBooks record what the workers of a fleet have reported.
type fleetBooks struct {
	mu    sync.Mutex
	acked map[tenure]uint64 // the highest number confirmed
	parts [fleet.Parts]struct {
		term string
		high uint64
	}
	nodes     map[int]*lastBeat
	deaths    []death
	stops     []span // when workers were stopped
	handovers int    // an estimate, as the lines of different workers come in any order
	refused   int
	again     int
	last      time.Time // when a number was confirmed last
}

// tenure identifies the time for which a term had a part. A term can have the same
// part more than once, and takes it in another generation each time.
type tenure struct {
	part  fleet.Part
	term  string
	taken uint64
}

// lastBeat is the term that a worker had last, and the parts it had then.
type lastBeat struct {
	term string
	own  fleet.Set
}

// death is the kill of a worker.
type death struct {
	lastBeat
	at time.Time
}

// span is from one time to another.
type span struct{ from, to time.Time }

func newFleetBooks() *fleetBooks {
	return &fleetBooks{acked: make(map[tenure]uint64), nodes: make(map[int]*lastBeat), last: time.Now()}
}

// heard records a line of a worker.
func (b *fleetBooks) heard(node int, s *fleetSaid) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.Own != nil {
		b.nodes[node] = &lastBeat{s.Term, *s.Own}
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

// ended records that a worker is being killed, or has died at its point.
func (b *fleetBooks) ended(node int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.nodes[node]; s != nil {
		b.deaths = append(b.deaths, death{*s, time.Now()})
		delete(b.nodes, node)
	}
}

// stopped records that a worker stood still since from.
func (b *fleetBooks) stopped(from time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stops = append(b.stops, span{from, time.Now()})
}

// counts returns the hand-overs and the refused commits so far.
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

// high returns the highest number of each part that was confirmed.
func (b *fleetBooks) high() *goals {
	b.mu.Lock()
	defer b.mu.Unlock()
	var g goals
	for p := range b.parts {
		g[p] = b.parts[p].high
	}
	return &g
}

// behind returns the parts of which no number above the goal is confirmed yet.
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

// verdict is the result of comparing the store with the books.
type verdict struct {
	writes, handovers    int
	stale, doubled, lost int
	takeovers            []time.Duration // from a kill to the first write of another term, of each part
	longest              time.Duration   // takeover, not counting time in which any worker was stopped
	found                []violation
}

// shownOfEach is how many violations of one kind are described; the others are only
// counted.
const shownOfEach = 5

// check compares the store with the books. A forgetful store may lose numbers that it
// has confirmed, as long as they are written again.
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

// order finds writes of terms that did not have the part any more: a write that comes
// after one of a later term, and a write that a later term did not find in the store
// when it took the part, which shows in that it began with the same number.
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

// numbers finds numbers that are missing or there twice.
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

// confirmed finds writes that were confirmed to a worker and are not in the store.
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

// takeover measures how long nobody wrote a part of a killed worker.
func (v *verdict) takeover(list []link, d death, stops []span) {
	for _, l := range list {
		if l.At.After(d.at) && l.Term != d.term {
			v.takeovers = append(v.takeovers, l.At.Sub(d.at))
			v.longest = max(v.longest, outside(stops, span{d.at, l.At}))
			return
		}
	}
}

// outside is how much of a span lies outside all the others.
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
