package roster

import (
	"cmp"
	"crypto/rand"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// Roster has the terms of a fleet.
type Roster struct {
	Terms map[string]*Term // by id; parts that none of them has are free
	Beats uint64           // see fleet.State
	Epoch uint64
}

// Term is the membership of a node. Whatever changes in a term, Until or Member.Beats changes, too.
type Term struct {
	fleet.Member // without Over
	Generation   uint64
	Until        time.Time // when the lease expires
}

// New returns a roster without terms.
func New() Roster { return Roster{Terms: make(map[string]*Term)} }

func (t *Term) over(now time.Time) bool { return !t.Until.After(now) }

// Join does what fleet.Members.Join has to do.
func (r *Roster) Join(n fleet.Node, now time.Time) fleet.State {
	maps.DeleteFunc(r.Terms, func(_ string, t *Term) bool { return t.Node.Name == n.Name })
	r.count(n.Seen, false)
	n.Seen = 0
	t := &Term{Member: fleet.Member{Node: n, Term: rand.Text()}, Generation: 1, Until: now.Add(n.Lease)}
	r.Terms[t.Term] = t
	return r.stateOf(t, now)
}

// Beat does what fleet.Members.Beat has to do.
func (r *Roster) Beat(b fleet.Beat, now time.Time) (fleet.State, error) {
	t := r.Terms[b.Fence.Term]
	if t == nil || b.Fence.Generation > t.Generation {
		return fleet.State{}, fleet.ErrFenced
	}
	r.count(b.Seen, b.Lost)

	had := t.Parts
	t.Parts = had.Minus(b.Give)
	for _, other := range r.Terms {
		if latest := now.Add(other.Node.Lease); other.Until.After(latest) {
			other.Until = latest
		}
	}
	for _, id := range b.Suspects {
		if other := r.Terms[id]; other != nil && other != t && other.over(now) {
			delete(r.Terms, id)
		}
	}
	t.Parts = t.Parts.Plus(r.free().Minus(b.Give).First(max(b.Want-t.Parts.Len(), 0)))
	if t.Parts != had {
		t.Generation++
	}

	r.grant(t, b.Asks)
	t.Node.Weight, t.Says = b.Weight, slices.Clone(b.Says)
	t.Beats++
	t.Until = now.Add(t.Node.Lease)
	return r.stateOf(t, now), nil
}

// Alone ends all terms for a commit without a fence. It returns fleet.ErrShared if a lease is valid.
func (r *Roster) Alone(now time.Time) error {
	for _, t := range r.Terms {
		if !t.over(now) {
			return fleet.ErrShared
		}
	}
	clear(r.Terms)
	return nil
}

// Has reports whether a fence is that of a term.
func (r *Roster) Has(f fleet.Fence) bool {
	t := r.Terms[f.Term]
	return t != nil && t.Generation == f.Generation
}

// State returns what fleet.Members.Look returns.
func (r *Roster) State(now time.Time) fleet.State {
	free := r.free()
	st := fleet.State{Free: free.Len(), Beats: r.Beats, Epoch: r.Epoch}
	for _, t := range r.Terms {
		m := t.Member
		m.Grants, m.Over, m.Says = maps.Clone(m.Grants), t.over(now), slices.Clone(m.Says)
		st.Members = append(st.Members, m)
	}
	slices.SortFunc(st.Members, func(a, b fleet.Member) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	return st
}

func (r *Roster) stateOf(t *Term, now time.Time) fleet.State {
	st := r.State(now)
	st.Fence, st.Own, st.Lease = fleet.Fence{Term: t.Term, Generation: t.Generation}, t.Parts, t.Node.Lease
	st.Grants = maps.Clone(t.Grants)
	return st
}

// free returns the parts that no term has.
func (r *Roster) free() fleet.Set {
	free := fleet.All()
	for _, t := range r.Terms {
		free = free.Minus(t.Parts)
	}
	return free
}

// count counts a join or beat. If the node has seen a greater number than was counted, the store
// has lost some joins or beats; count then draws a new epoch.
func (r *Roster) count(seen uint64, lost bool) {
	if seen > r.Beats || lost {
		r.Epoch = 1 + mathrand.Uint64N(1<<53-1) // 53 bits, because a JSON reader may store it in a float64
	}
	r.Beats = max(r.Beats, seen) + 1
}

// grant replaces a term's grants. Each is the rate asked for, limited to the part of the total that
// the grants of other terms leave.
func (r *Roster) grant(t *Term, asks []fleet.Ask) {
	t.Grants = make(map[string]float64, len(asks))
	for _, a := range asks {
		left := a.Total
		for _, other := range r.Terms {
			if other != t {
				left -= other.Grants[a.Budget]
			}
		}
		t.Grants[a.Budget] = max(min(a.Rate, left), 0)
	}
}
