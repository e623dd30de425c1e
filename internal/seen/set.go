package seen

import (
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"time"
)

// Set is a set of recent ids, for queries and for sources without order: their answers have
// no end to read back to. It remembers an id for at least the horizon after it was last
// added. The first Add after twice the horizon forgets it.
//
// It is exact. In a large set a numeric id takes 10.7 to 13.5 bytes, another id 22 to 28
// bytes plus its length. An id that is added again in the older half of its life is stored
// twice until that half is over. No Add moves more than about 6,000 ids, whatever the size
// of the set, which takes about 40 µs.
//
// A Set is not safe for concurrent use, except that Has and HasEach may be called
// concurrently while no other method is.
type Set struct {
	horizon time.Duration
	since   time.Time // young takes the ids of one horizon from since on
	young   generation
	old     generation
	both    int // number of ids in both young and old

	// The seeds are random: nobody can make up ids with equal hashes.
	seed     uint64
	textSeed maphash.Seed
}

// generation holds the ids added in one horizon of time.
type generation struct {
	numbers table
	texts   table
}

func (g *generation) len() int { return g.numbers.count + g.texts.count }

func (g *generation) table(text bool) *table {
	if text {
		return &g.texts
	}
	return &g.numbers
}

// NewSet returns an empty set. It panics if horizon is not above 0.
func NewSet(horizon time.Duration) *Set {
	if horizon <= 0 {
		panic(fmt.Sprintf("seen: horizon %s is not allowed: want more than 0", horizon))
	}
	return &Set{horizon: horizon, seed: rand.Uint64(), textSeed: maphash.MakeSeed()}
}

// Len returns the number of ids remembered.
func (s *Set) Len() int { return s.young.len() + s.old.len() - s.both }

// Has reports whether the set remembers an id. It changes nothing: call Add for an id that
// was shown again, once it is dealt with.
func (s *Set) Has(id string) bool {
	h, text := s.hash(id)
	// Both home slots are read before either is compared. The processor then waits for memory
	// only once. Most ids are in their home slot.
	if !text && min(s.young.numbers.atHome(h)^h, s.old.numbers.atHome(h)^h) == 0 {
		return true
	}
	return s.young.table(text).has(h, id) || s.old.table(text).has(h, id)
}

// HasEach sets known[i] to Has(ids[i]) for a page of ids. For a set larger than the
// processor's caches it takes a third of the time of single calls, because the processor
// waits for the memory of many ids at once.
func (s *Set) HasEach(ids []string, known []bool) {
	var asked [16]struct {
		h, young, old uint64
		text          bool
	}
	known = known[:len(ids)]
	for len(ids) > 0 {
		n := min(len(ids), len(asked))
		for i, id := range ids[:n] {
			asked[i].h, asked[i].text = s.hash(id)
		}
		for i := range asked[:n] {
			a := &asked[i]
			a.young, a.old = s.young.numbers.atHome(a.h), s.old.numbers.atHome(a.h)
		}
		for i := range asked[:n] {
			switch a := &asked[i]; {
			case a.text:
				known[i] = s.young.texts.has(a.h, ids[i]) || s.old.texts.has(a.h, ids[i])
			case a.young == a.h || a.old == a.h:
				known[i] = true
			default: // an empty home slot means that the id is not there
				known[i] = a.young != 0 && s.young.numbers.has(a.h, ids[i]) || a.old != 0 && s.old.numbers.has(a.h, ids[i])
			}
		}
		ids, known = ids[n:], known[n:]
	}
}

// Add remembers ids from now on, including known ones. Calls must be in the order of time;
// a now before the latest one given counts as that. Without ids, Add only forgets expired
// ids.
func (s *Set) Add(now time.Time, ids ...string) {
	s.advance(now)
	for _, id := range ids {
		h, text := s.hash(id)
		if s.young.table(text).add(h, id, text) && s.old.table(text).has(h, id) {
			s.both++
		}
	}
}

// advance makes young old when its time is over. The next generation begins at exactly that
// time, not at now, which keeps twice the horizon as the limit.
func (s *Set) advance(now time.Time) {
	if s.since.IsZero() {
		s.since = now
		return
	}
	switch age := now.Sub(s.since); {
	case age < s.horizon:
		return
	case age-s.horizon < s.horizon:
		s.old, s.since = s.young, s.since.Add(s.horizon)
	default:
		s.old, s.since = generation{}, now
	}
	s.young, s.both = generation{}, 0
}

// hash returns the hash of an id, and whether the tables have to store the id as text.
// Different numbers have different hashes, so a number is not stored itself. The exception
// is the number with hash 0, because 0 marks a free slot.
func (s *Set) hash(id string) (h uint64, text bool) {
	if n, ok := numericKey(id); ok {
		if h = mix(n ^ s.seed); h != 0 {
			return h, false
		}
	}
	return max(1, maphash.String(s.textSeed, id)), true
}

// mix spreads a number over all bits. Each of its steps is reversible, so no two numbers
// give the same result.
func mix(n uint64) uint64 {
	const odd = 0xd6e8feb86659fd93
	n = (n ^ n>>32) * odd
	n = (n ^ n>>32) * odd
	return n ^ n>>32
}
