package node

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// roster is who is in the fleet, as last seen, and how long nothing was seen of each.
// It is written by one goroutine.
type roster struct {
	self  fleet.Node
	times times

	mu     sync.Mutex
	state  fleet.State
	seen   map[string]*sight // by term
	last   time.Time         // when state was asked for
	come   time.Time         // when it came
	broken bool              // a call has failed since
	high   uint64            // the highest State.Beats
	orphan fleet.Set         // parts of members that were ended for their silence, and that no other has taken
}

// sight is what was seen of a term.
type sight struct {
	beats uint64
	since time.Time // of the look that showed a beat first, later by all times in which nobody could look
	raw   []byte    // Member.Says
	says  says
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
	// What passed in an outage, or while this process stood still, is no silence of
	// others: they had no chance to beat, or it none to see them.
	blind := now.Sub(r.come)
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
	r.state, r.seen, r.last, r.come, r.broken = st, seen, sent, now, false
}

// Orphans are those of some parts that the node has just taken whose last member was not
// heard of for long before its term ended: nobody has polled them meanwhile. They are told
// once.
func (n *Node) Orphans(taken fleet.Set) fleet.Set {
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	orphans := r.orphan.And(taken)
	r.orphan = r.orphan.Minus(taken)
	return orphans
}

// gone reports whether a member is taken for dead: its lease is over, and no beat was
// seen for a lease of its own. Only what a look has shown counts.
func (r *roster) gone(m *fleet.Member) bool {
	s := r.seen[m.Term]
	return m.Over && s != nil && r.last.Sub(s.since) >= m.Node.Lease
}

// living are the members that are not taken for dead. The own term, if it is among
// them, always is.
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

// view is what a beat is made of.
type view struct {
	want     int // the share of the own term
	alone    bool
	missing  bool // the own term is: it has been ended
	living   int
	suspects []string
	says     []says // of the others that live
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

// nextLook is when to look in between two beats: often enough that the one of some
// nodes which comes first sees a beat soon after it, and when a silence becomes a
// lease long.
func (r *roster) nextLook(own string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.state.Members) < 2 {
		return r.come.Add(r.times.lease)
	}
	period := r.times.lease / 10
	if n := len(r.state.Members); n > 10 {
		period = period * time.Duration(n) / 10
	}
	next := r.come.Add(period)
	for i := range r.state.Members {
		m := &r.state.Members[i]
		if at := r.seen[m.Term].since.Add(m.Node.Lease); m.Term != own && at.Before(next) && r.last.Before(at) {
			next = at
		}
	}
	return next
}

// named is the member of a name.
func named(st fleet.State, name string) (fleet.Member, bool) {
	i := slices.IndexFunc(st.Members, func(m fleet.Member) bool { return m.Node.Name == name })
	if i < 0 {
		return fleet.Member{}, false
	}
	return st.Members[i], true
}

// Members is how many members live, this one included.
func (n *Node) Members() int {
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	living, _ := r.living(n.Fence().Term)
	return max(len(living), 1)
}

// NameOf names the member that has a part, as last seen: "" for none.
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
	fleet.Member               // Says is what its Host says
	Silent       time.Duration // for so long no beat of it was seen
	Living       bool
}

// State returns what is known, by no call to the store.
func (n *Node) State() State {
	s := State{Fence: n.Fence(), Trusted: n.stand.trusted() > 0, Parts: n.Parts(), Grants: n.grants.all(), Applied: n.feed.applied.Load()}
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Epoch, s.Feed, s.Free = r.state.Epoch, r.state.Feed, r.state.Free
	for _, m := range r.state.Members {
		sight := r.seen[m.Term]
		living := m.Term == s.Fence.Term || !r.gone(&m)
		m.Says, m.Grants = bytes.Clone(sight.says.Host), maps.Clone(m.Grants)
		s.Members = append(s.Members, Member{Member: m, Silent: time.Since(sight.since), Living: living})
	}
	return s
}

// came is when the state came.
func (r *roster) came() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.come
}

// beats is State.Beats as this process saw it last, or before the store has lost some.
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
