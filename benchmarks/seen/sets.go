package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/puzpuzpuz/xsync/v4"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/internal/seen"
)

// memory is a set of ids. add is called with ids in the order they came, and
// with how far that is in a life of two horizons, 0 to 1.
type memory struct {
	add func(age float64, ids []string)
	has func(id string) bool
	// hasEach answers for a page; nil asks has for one id after the other.
	hasEach func(ids []string, known []bool)
}

// page answers for a page of ids.
func (m *memory) page(ids []string, known []bool) {
	if m.hasEach != nil {
		m.hasEach(ids, known)
		return
	}
	for i, id := range ids {
		known[i] = m.has(id)
	}
}

type contestant struct {
	name string
	make func() memory
	many bool // also takes part with as many ids as -gcids says
}

const horizon = 24 * time.Hour

func setContestants() []contestant {
	return []contestant{
		{report.Ours, func() memory {
			s := seen.NewSet(horizon)
			begin := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)
			return memory{
				func(age float64, ids []string) {
					s.Add(begin.Add(time.Duration(age*float64(2*horizon-1))), ids...)
				},
				s.Has, s.HasEach,
			}
		}, true},
		{"map[uint64]struct{}, for numbers", func() memory {
			m := map[uint64]struct{}{}
			return memory{each(func(id string) {
				if n, err := strconv.ParseUint(id, 10, 64); err == nil {
					m[n] = struct{}{}
				}
			}), func(id string) bool {
				n, err := strconv.ParseUint(id, 10, 64)
				_, known := m[n]
				return known && err == nil
			}, nil}
		}, true},
		{"map[string]struct{}", func() memory {
			m := map[string]struct{}{}
			return memory{each(func(id string) { m[own(id)] = struct{}{} }),
				func(id string) bool { _, known := m[id]; return known }, nil}
		}, true},
		{"xsync.Map", func() memory {
			m := xsync.NewMap[string, struct{}]()
			return memory{each(func(id string) { m.Store(own(id), struct{}{}) }),
				func(id string) bool { _, known := m.Load(id); return known }, nil}
		}, false},
		{"sync.Map", func() memory {
			m := new(sync.Map)
			return memory{each(func(id string) { m.Store(own(id), struct{}{}) }),
				func(id string) bool { _, known := m.Load(id); return known }, nil}
		}, false},
	}
}

// own copies an id out of the answer that it was read in, which a map would
// keep whole.
func own(id string) string { return string([]byte(id)) }

func each(add func(id string)) func(float64, []string) {
	return func(_ float64, ids []string) {
		for _, id := range ids {
			add(id)
		}
	}
}

func sets(o options) ([]report.Row, error) {
	var rows []report.Row
	for _, c := range setContestants() {
		more, err := measureSet(o, c, o.ids, true)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	for _, c := range setContestants() {
		if !c.many {
			continue
		}
		more, err := measureSet(o, c, o.gcIDs, false)
		if err != nil {
			return nil, err
		}
		rows = append(rows, more...)
	}
	return rows, nil
}

// measureSet fills a set with n ids and takes its size, the collector's time
// and, if wanted, those of lookups.
func measureSet(o options, c contestant, n int, times bool) ([]report.Row, error) {
	kase := func(what string) string { return fmt.Sprintf("%d ids, %s", n, what) }
	before := heap()
	m := c.make()
	var b batch
	var spent time.Duration
	for done := 0; done < n; {
		b.fill(func(i int) uint64 { return snowflake(uint64(done + i)) })
		ids := b.ids[:min(len(b.ids), n-done)]
		start := time.Now()
		m.add(float64(done)/float64(n), ids)
		spent += time.Since(start)
		done += len(ids)
	}
	after := heap()
	gc := fullGC()
	var rows []report.Row
	if times {
		rows = append(rows, row(kase("add"), c.name, "time", float64(spent.Nanoseconds())/float64(n), "ns/op"))
		rng := rand.New(rand.NewPCG(1, 2))
		wrong := 0
		known := make([]bool, pageSize)
		pages := func() {
			for page := range slices.Chunk(b.ids[:], pageSize) {
				m.page(page, known)
			}
		}
		single := func() {
			for _, id := range b.ids {
				m.has(id)
			}
		}
		lookup := func(from int, want bool, ask func()) func() float64 {
			return func() float64 {
				ns := perID(o.For, func() {
					b.fill(func(int) uint64 { return snowflake(uint64(from + rng.IntN(n))) })
				}, ask)
				for page := range slices.Chunk(b.ids[:], pageSize) {
					m.page(page, known)
					if slices.Contains(known, !want) || m.has(page[0]) != want {
						wrong++
					}
				}
				return ns
			}
		}
		ns := report.Interleave(o.Rounds, lookup(0, true, pages), lookup(n, false, pages),
			lookup(0, true, single), lookup(n, false, single))
		if wrong > 0 {
			return nil, fmt.Errorf("seen: %s: %d pages got wrong answers", c.name, wrong)
		}
		rows = append(rows, row(kase("hit"), c.name, "time", ns[0], "ns/op"), row(kase("miss"), c.name, "time", ns[1], "ns/op"),
			row(kase("hit, one at a time"), c.name, "time", ns[2], "ns/op"), row(kase("miss, one at a time"), c.name, "time", ns[3], "ns/op"))
	}
	if !m.has(strconv.FormatUint(snowflake(0), 10)) || m.has("0") {
		return nil, fmt.Errorf("seen: %s: the first id is not known, or one that never came is", c.name)
	}
	return append(rows,
		row(kase("kept"), c.name, "memory", (after-before)/float64(n), "B"),
		row(kase("kept"), c.name, "full GC", gc, "ms")), nil
}
