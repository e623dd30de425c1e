package memory

import (
	"cmp"
	"context"
	"crypto/rand"
	"maps"
	mathrand "math/rand/v2"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// members implements fleet.Members.
type members struct{ s *Store }

// roster has the terms of a fleet. Its callers must have locked the store.
type roster struct {
	terms map[string]*term
	free  fleet.Set
	beats uint64
	epoch uint64
}

// term is the membership of a node.
type term struct {
	node       fleet.Node
	id         string
	generation uint64
	parts      fleet.Set
	grants     map[string]float64
	beats      uint64
	says       []byte
	until      time.Time // when the lease expires
}

func newRoster() roster { return roster{terms: make(map[string]*term), free: fleet.All()} }

func (t *term) over(now time.Time) bool { return !t.until.After(now) }

func (m members) Join(ctx context.Context, n fleet.Node) (fleet.State, error) {
	s, r := m.s, &m.s.roster
	if err := s.lock(ctx); err != nil {
		return fleet.State{}, err
	}
	defer s.mu.Unlock()
	for _, t := range r.terms {
		if t.node.Name == n.Name {
			r.end(t)
		}
	}
	r.count(n.Seen, false)
	n.Seen = 0
	now := s.opts.Now()
	t := &term{node: n, id: rand.Text(), generation: 1, until: now.Add(n.Lease)}
	r.terms[t.id] = t
	return s.stateOf(t, now), nil
}

func (m members) Beat(ctx context.Context, b fleet.Beat) (fleet.State, error) {
	s, r := m.s, &m.s.roster
	if err := s.lock(ctx); err != nil {
		return fleet.State{}, err
	}
	defer s.mu.Unlock()
	t := r.terms[b.Fence.Term]
	if t == nil || b.Fence.Generation > t.generation {
		return fleet.State{}, fleet.ErrFenced
	}
	r.count(b.Seen, b.Lost)

	given := t.parts.And(b.Give)
	t.parts, r.free = t.parts.Minus(given), r.free.Plus(given)
	now := s.opts.Now()
	for _, other := range r.terms {
		if latest := now.Add(other.node.Lease); other.until.After(latest) {
			other.until = latest
		}
	}
	for _, id := range b.Suspects {
		if other := r.terms[id]; other != nil && other != t && other.over(now) {
			r.end(other)
		}
	}
	taken := r.free.Minus(b.Give).First(max(b.Want-t.parts.Len(), 0))
	t.parts, r.free = t.parts.Plus(taken), r.free.Minus(taken)
	if given != (fleet.Set{}) || taken != (fleet.Set{}) {
		t.generation++
	}

	r.grant(t, b.Asks)
	t.node.Weight, t.says = b.Weight, slices.Clone(b.Says)
	t.beats++
	t.until = now.Add(t.node.Lease)
	return s.stateOf(t, now), nil
}

func (m members) Leave(ctx context.Context, f fleet.Fence) error {
	if err := m.s.lock(ctx); err != nil {
		return err
	}
	defer m.s.mu.Unlock()
	if t := m.s.roster.terms[f.Term]; t != nil {
		m.s.roster.end(t)
	}
	return nil
}

func (m members) Look(ctx context.Context) (fleet.State, error) {
	if err := m.s.lock(ctx); err != nil {
		return fleet.State{}, err
	}
	defer m.s.mu.Unlock()
	return m.s.state(m.s.opts.Now()), nil
}

// end removes a term and frees its parts.
func (r *roster) end(t *term) {
	delete(r.terms, t.id)
	r.free = r.free.Plus(t.parts)
}

// count counts a join or beat. If the node has seen a greater number than was counted, this store
// has lost some joins or beats; count then draws a new epoch.
func (r *roster) count(seen uint64, lost bool) {
	if seen > r.beats || lost {
		r.epoch = 1 + mathrand.Uint64N(1<<53-1) // 53 bits, because a JSON reader may store it in a float64
	}
	r.beats = max(r.beats, seen) + 1
}

// grant replaces a term's grants. Each is the rate asked for, limited to the part of the total that
// the grants of other terms leave.
func (r *roster) grant(t *term, asks []fleet.Ask) {
	t.grants = make(map[string]float64, len(asks))
	for _, a := range asks {
		left := a.Total
		for _, other := range r.terms {
			if other != t {
				left -= other.grants[a.Budget]
			}
		}
		t.grants[a.Budget] = max(min(a.Rate, left), 0)
	}
}

// state returns the fleet's state without the fields that describe one term.
func (s *Store) state(now time.Time) fleet.State {
	r := &s.roster
	st := fleet.State{Free: r.free.Len(), Beats: r.beats, Epoch: r.epoch}
	for _, t := range r.terms {
		st.Members = append(st.Members, fleet.Member{
			Node: t.node, Term: t.id, Parts: t.parts, Grants: maps.Clone(t.grants), Beats: t.beats,
			Over: t.over(now), Says: slices.Clone(t.says),
		})
	}
	slices.SortFunc(st.Members, func(a, b fleet.Member) int { return cmp.Compare(a.Node.Name, b.Node.Name) })
	return st
}

func (s *Store) stateOf(t *term, now time.Time) fleet.State {
	st := s.state(now)
	st.Fence, st.Own, st.Lease = fleet.Fence{Term: t.id, Generation: t.generation}, t.parts, t.node.Lease
	st.Grants = maps.Clone(t.grants)
	return st
}

// fenced returns nil if the batches may be committed, otherwise ErrFenced or ErrShared. If a batch
// has no fence, all leases must have expired, and fenced ends all terms.
func (r *roster) fenced(batches []*detect.Batch, now time.Time) error {
	alone := false
	for _, b := range batches {
		if b.Fence.IsZero() {
			alone = true
		} else if t := r.terms[b.Fence.Term]; t == nil || t.generation != b.Fence.Generation {
			return fleet.ErrFenced
		}
	}
	if !alone {
		return nil
	}
	for _, t := range r.terms {
		if !t.over(now) {
			return fleet.ErrShared
		}
	}
	for _, t := range r.terms {
		r.end(t)
	}
	return nil
}
