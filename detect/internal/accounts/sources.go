package accounts

import (
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/rule/query"
)

// Source is a monitor or a rule that watches accounts.
type Source struct {
	poll.Source
	Weight float64

	interval time.Duration
	read     time.Time // see Terms
	resumes  bool
	slots    slotSet // the accounts of the source
	wants    []int32 // indexes in wants.list
}

// Terms are a source's terms for all its accounts.
type Terms struct {
	poll.Source
	Interval time.Duration // the longest time between two polls; 0 if there is no limit
	Weight   float64       // how much the latency of its posts counts
	// Read is the time up to which a search or another process has read the posts of all the
	// source's accounts for it; zero if none has.
	Read time.Time
	// Resumes is true if another process has read all cold accounts of the source for it.
	Resumes bool
}

// Source returns a source by its id, nil if it has no account here.
func (a *Targets) Source(id string) *Source { return a.sources[id] }

// setSource finds or adds a source and sets its terms. changed reports whether this changes when
// the source's accounts are due.
func (a *Targets) setSource(terms Terms) (src *Source, changed bool) {
	if src = a.sources[terms.ID]; src == nil {
		src = &Source{}
		a.sources[terms.ID] = src
	}
	changed = src.interval != terms.Interval || src.Weight != terms.Weight || src.Owner != terms.Owner
	src.Source.Source, src.Match = terms.Source.Source, terms.Match
	src.interval, src.Weight = terms.Interval, terms.Weight
	src.read, src.resumes = terms.Read, terms.Resumes
	a.wants.setInterval(src)
	return src, changed
}

// setAccounts sets the accounts of a source, given as the sorted slots that it subscribes to. It
// also sets the program that decides for the source, nil for none. It calls left for each account
// that the source has lost. A source without accounts is dropped.
func (a *Targets) setAccounts(src *Source, sorted []int32, p *query.Program, left func(slot int32)) {
	had := src.slots
	src.slots = setOf(sorted)
	had.each(func(slot int32) {
		if !src.slots.has(slot) {
			left(slot)
		}
	})
	if len(sorted) == 0 {
		p = nil
		delete(a.sources, src.ID)
	}
	a.index.Follow(&src.Source, p)
}

// Programs returns how many sources have a program that decides for them.
func (a *Targets) Programs() int { return a.index.Len() }

// drop removes accounts from a source, given as sorted slots. A source without accounts is itself
// dropped.
func (a *Targets) drop(src *Source, sorted []int32) {
	if src.slots = src.slots.without(sorted); len(src.slots) == 0 {
		delete(a.sources, src.ID)
		a.index.Follow(&src.Source, nil)
	}
}

// Interval returns the interval that the source asks for; 0 if it asks for none.
func (src *Source) Interval() time.Duration { return src.interval }

// EachOf calls fn for each account of a source.
func (src *Source) EachOf(fn func(slot int32)) { src.slots.each(fn) }

// wants holds the wants of all sources. Most accounts of a source begin at the same time
// and share a want.
type wants struct {
	list []want
	free []int32
}

// want is a source and its start: posts published since then are for the source.
type want struct {
	source *Source
	since  time.Time
	// from is how far back to read while the subscriber is fresh. It is set if another node has
	// read earlier posts, and is then later than since. Zero stands for since.
	from     time.Time
	interval time.Duration // a copy of the source's, to have it near the data that a poll reads
	refs     int
	at       int // index in Source.wants
}

// take returns a source's want with the given times. It first tries the source's last few wants,
// then makes a new one.
func (ws *wants) take(src *Source, since, from time.Time) int32 {
	const few = 4
	for _, w := range src.wants[max(0, len(src.wants)-few):] {
		if ws.list[w].since.Equal(since) && ws.list[w].from.Equal(from) {
			ws.list[w].refs++
			return w
		}
	}
	var w int32
	if n := len(ws.free); n > 0 {
		w, ws.free = ws.free[n-1], ws.free[:n-1]
	} else {
		w = int32(len(ws.list))
		ws.list = append(ws.list, want{})
	}
	ws.list[w] = want{source: src, since: since, from: from, interval: src.interval, refs: 1, at: len(src.wants)}
	src.wants = append(src.wants, w)
	return w
}

// drop releases a want returned by take.
func (ws *wants) drop(w int32) {
	if ws.list[w].refs--; ws.list[w].refs > 0 {
		return
	}
	src, at := ws.list[w].source, ws.list[w].at
	last := len(src.wants) - 1
	src.wants[at] = src.wants[last]
	ws.list[src.wants[at]].at = at
	src.wants = src.wants[:last]
	ws.list[w] = want{}
	ws.free = append(ws.free, w)
}

func (ws *wants) setInterval(src *Source) {
	for _, w := range src.wants {
		ws.list[w].interval = src.interval
	}
}
