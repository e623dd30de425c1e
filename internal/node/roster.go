package node

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// roster holds the members of the fleet, as last seen, and how long no beat was seen of each.
// One goroutine writes it.
type roster struct {
	self  fleet.Node
	times times

	mu      sync.Mutex
	state   fleet.State
	seen    map[string]*sight // by term
	last    time.Time         // when state was asked for
	arrived time.Time         // when state arrived
	broken  bool              // a call has failed since
	high    uint64            // the highest State.Beats
	orphan  fleet.Set         // parts of members that were ended for their silence, and that no other has taken
}

// sight is what was seen of a term.
type sight struct {
	beats uint64
	since time.Time // when its last beat was seen first, moved on by times in which beats could not be seen
	raw   []byte    // Member.Says
	says  says      // raw, decoded
}

func newRoster(self fleet.Node, t times) *roster {
	return &roster{self: self, times: t, seen: map[string]*sight{}}
}

// failed notes that a call to the store has failed: it may be that nobody could beat.
func (r *roster) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = true
}

// note takes a state that was asked for at sent.
func (r *roster) note(st fleet.State, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	// The time of an outage of the store, or in which this process was stopped, does not count
	// as silence of the others: they could not beat, or this node could not see it.
	blind := now.Sub(r.arrived)
	if !r.broken && blind <= r.times.lease/2 {
		blind = 0
	}
	seen := make(map[string]*sight, len(st.Members))
	for _, m := range st.Members {
		s := r.seen[m.Term]
		if s == nil || s.beats != m.Beats {
			s = &sight{beats: m.Beats, since: now}
		} else if s.since = s.since.Add(blind); s.since.After(now) {
			s.since = now
		}
		if old := r.seen[m.Term]; old != nil && bytes.Equal(old.raw, m.Says) {
			s.raw, s.says = old.raw, old.says
		} else {
			s.raw, s.says = m.Says, readSays(m.Says)
		}
		seen[m.Term] = s
	}
	for i := range r.state.Members {
		m := &r.state.Members[i]
		if s := r.seen[m.Term]; seen[m.Term] == nil && s != nil && now.Sub(s.since) >= m.Node.Lease/2 {
			r.orphan = r.orphan.Plus(m.Parts)
		}
	}
	for i := range st.Members {
		if m := &st.Members[i]; m.Node.Name != r.self.Name {
			r.orphan = r.orphan.Minus(m.Parts)
		}
	}
	r.high = max(r.high, st.Beats)
	r.state, r.seen, r.last, r.arrived, r.broken = st, seen, sent, now, false
}

// Orphans returns those of the parts taken whose last member was silent for long before its
// term was ended, so that nobody has polled them meanwhile. It returns each of them once.
func (n *Node) Orphans(taken fleet.Set) fleet.Set {
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	orphans := r.orphan.And(taken)
	r.orphan = r.orphan.Minus(taken)
	return orphans
}

// gone reports whether a member is taken for dead: its lease has ended by the store's clock,
// and at the last look no new beat of it was seen for the length of its lease.
func (r *roster) gone(m *fleet.Member) bool {
	s := r.seen[m.Term]
	return m.Over && s != nil && r.last.Sub(s.since) >= m.Node.Lease
}

// living returns the members that are not taken for dead, and the terms of the others. The own
// term is never taken for dead.
func (r *roster) living(own string) (living []*fleet.Member, suspects []string) {
	for i := range r.state.Members {
		if m := &r.state.Members[i]; m.Term != own && r.gone(m) {
			suspects = append(suspects, m.Term)
		} else {
			living = append(living, m)
		}
	}
	return living, suspects
}

// view is what the roster shows for a beat.
type view struct {
	want     int // how many parts the own term's share has
	alone    bool
	missing  bool // the own term is not among the members: it was ended
	living   int
	suspects []string
	says     []says // of the other living members
	free     int
}

func (r *roster) view(own string) view {
	r.mu.Lock()
	defer r.mu.Unlock()
	living, suspects := r.living(own)
	v := view{suspects: suspects, living: len(living), free: r.state.Free}
	at := -1
	weights := make([]float64, 0, len(living)+1)
	for _, m := range living {
		if m.Term == own {
			at = len(weights)
		} else {
			v.says = append(v.says, r.seen[m.Term].says)
		}
		weights = append(weights, m.Node.Weight)
	}
	if at < 0 {
		at, v.missing = len(weights), true
		weights = append(weights, 0)
		v.living++
	}
	weights[at] = r.self.Weight
	v.want, v.alone = shares(weights)[at], v.living == 1
	return v
}

// nextLook returns when to look between two beats: ten times a lease, and in fleets of more
// than ten members so seldom that all of them together look a hundred times a lease; and when
// the silence of a member becomes as long as its lease.
func (r *roster) nextLook(own string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.state.Members) < 2 {
		return r.arrived.Add(r.times.lease)
	}
	period := r.times.lease / 10
	if n := len(r.state.Members); n > 10 {
		period = period * time.Duration(n) / 10
	}
	next := r.arrived.Add(period)
	for i := range r.state.Members {
		m := &r.state.Members[i]
		if at := r.seen[m.Term].since.Add(m.Node.Lease); m.Term != own && at.Before(next) && r.last.Before(at) {
			next = at
		}
	}
	return next
}

// named returns the member with a name.
func named(st fleet.State, name string) (fleet.Member, bool) {
	i := slices.IndexFunc(st.Members, func(m fleet.Member) bool { return m.Node.Name == name })
	if i < 0 {
		return fleet.Member{}, false
	}
	return st.Members[i], true
}

// Members returns how many members live, this one included.
func (n *Node) Members() int {
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	living, _ := r.living(n.Fence().Term)
	return max(len(living), 1)
}

// NameOf returns the name of the member that has a part, as last seen, "" for none.
func (n *Node) NameOf(part fleet.Part) string {
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.state.Members {
		if m := &r.state.Members[i]; m.Parts.Has(part) {
			return m.Node.Name
		}
	}
	return ""
}

// State is the fleet as this node has seen it last.
type State struct {
	Fence   fleet.Fence
	Trusted bool // see Host.Hold
	Parts   fleet.Set
	Grants  map[string]float64
	Applied uint64 // the number of the last change that the node follows
	Epoch   uint64
	Feed    uint64
	Free    int // parts that nobody has
	Members []Member
}

// Member is a member as this node sees it.
type Member struct {
	fleet.Member               // without Says
	Silent       time.Duration // how long no beat of it was seen
	Living       bool
}

// State returns the state as last seen, without a call to the store.
func (n *Node) State() State {
	s := State{Fence: n.Fence(), Trusted: n.stand.trusted() > 0, Parts: n.Parts(), Grants: n.grants.all(), Applied: n.feed.applied.Load()}
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Epoch, s.Feed, s.Free = r.state.Epoch, r.state.Feed, r.state.Free
	for _, m := range r.state.Members {
		sight := r.seen[m.Term]
		living := m.Term == s.Fence.Term || !r.gone(&m)
		m.Says, m.Grants = nil, maps.Clone(m.Grants)
		s.Members = append(s.Members, Member{Member: m, Silent: time.Since(sight.since), Living: living})
	}
	return s
}

// lastArrival returns when the last state arrived.
func (r *roster) lastArrival() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.arrived
}

// beats returns the highest State.Beats that this process has seen.
func (r *roster) beats() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.high
}

// dead reports whether a term is taken for dead, or not in the fleet.
func (r *roster) dead(term string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.state.Members {
		if m := &r.state.Members[i]; m.Term == term {
			return r.gone(m)
		}
	}
	return true
}
