package node

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
)

// roster has the members of the fleet as last read from the store, and the time of each member's
// last new beat. One goroutine writes it.
type roster struct {
	self  fleet.Node
	times times

	mu      sync.Mutex
	state   fleet.State
	seen    map[string]*sight // by term
	last    time.Time         // when state was requested
	arrived time.Time         // when state arrived
	broken  bool              // a call has failed since then
	high    uint64            // the highest State.Beats
	orphan  fleet.Set         // parts of members that were ended for sending no beats; another member has not taken these parts yet
}

// sight records the beats that were seen of a term.
type sight struct {
	beats uint64
	since time.Time // when beats last changed, plus the time since then in which this node could not see beats
	raw   []byte    // Member.Says
	says  says      // raw, decoded
}

func newRoster(self fleet.Node, t times) *roster {
	return &roster{self: self, times: t, seen: map[string]*sight{}}
}

// failed notes that a call to the store has failed: perhaps no member could send a beat.
func (r *roster) failed() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.broken = true
}

// note stores a state of the fleet that was requested at the time sent.
func (r *roster) note(st fleet.State, sent time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	// Time in which the store was down does not count as silence, because no member could send a
	// beat. Nor does time in which this process was stopped, because it could not see the beats.
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

// Orphans returns the parts in taken that were orphaned: their member sent no beat for at least
// half its lease, and then its term was ended. No node polled these parts in that time. Orphans
// returns each of them once.
func (n *Node) Orphans(taken fleet.Set) fleet.Set {
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	orphans := r.orphan.And(taken)
	r.orphan = r.orphan.Minus(taken)
	return orphans
}

// gone reports whether a member is taken for dead. The member's lease has ended by the store's
// clock, and this node has seen no new beat of the member for the length of that lease.
func (r *roster) gone(m *fleet.Member) bool {
	s := r.seen[m.Term]
	return m.Over && s != nil && r.last.Sub(s.since) >= m.Node.Lease
}

// living returns the members that are not taken for dead, and as suspects the terms of the
// others. The term own is never a suspect.
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

// view is the data of the roster that a beat needs.
type view struct {
	want     int // how many parts this node's share has
	suspects []string
	says     []says // of the other living members that have a share
	free     int
}

func (r *roster) view(own string) view {
	r.mu.Lock()
	defer r.mu.Unlock()
	living, suspects := r.living(own)
	v := view{suspects: suspects, free: r.state.Free}
	active := slices.ContainsFunc(living, func(m *fleet.Member) bool { return !m.Node.Passive() })
	at := 0
	weights := make([]float64, len(living))
	for i, m := range living {
		if m.Term == own {
			at = i
		}
		if active && m.Node.Passive() {
			continue
		}
		weights[i] = m.Node.Weight
		if m.Term != own {
			v.says = append(v.says, r.seen[m.Term].says)
		}
	}
	v.want = shares(weights)[at]
	return v
}

// interval returns the time to the next beat: a tenth of the lease, because a beat also shows the
// others' beats. With more than ten members, each beats less often, but four times per lease at
// least, as a node without others does.
func (r *roster) interval() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.state.Members)
	if n < 2 {
		return r.times.beat
	}
	return min(r.times.lease/10*time.Duration(max(n, 10))/10, r.times.beat)
}

// nextEnd returns when a member's silence reaches the length of its lease, or a time beyond the
// next beat.
func (r *roster) nextEnd(own string) time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	next := r.last.Add(r.times.lease)
	for i := range r.state.Members {
		m := &r.state.Members[i]
		if at := r.seen[m.Term].since.Add(m.Node.Lease); m.Term != own && at.Before(next) && r.last.Before(at) {
			next = at
		}
	}
	return next
}

// named returns the member with that name, and false if there is none.
func named(st fleet.State, name string) (fleet.Member, bool) {
	i := slices.IndexFunc(st.Members, func(m fleet.Member) bool { return m.Node.Name == name })
	if i < 0 {
		return fleet.Member{}, false
	}
	return st.Members[i], true
}

// Members returns the number of living members, including this one.
func (n *Node) Members() int {
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	living, _ := r.living(n.Fence().Term)
	return max(len(living), 1)
}

// NameOf returns the name of the member that has a part, as last seen, or "" if no member has
// it.
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

// State is the state of the fleet as this node last read it.
type State struct {
	Fence   fleet.Fence
	Trusted bool // see Host.Hold
	Parts   fleet.Set
	Grants  map[string]float64
	Epoch   uint64
	Free    int // parts that no node has
	Members []Member
}

// Member is a member of the fleet, as this node sees it.
type Member struct {
	fleet.Member               // without Says
	Silent       time.Duration // time since its last new beat was seen
	Living       bool
}

// State returns the state as last seen, without a call to the store.
func (n *Node) State() State {
	s := State{Fence: n.Fence(), Trusted: n.stand.trusted() > 0, Parts: n.Parts(), Grants: n.grants.all()}
	r := n.roster
	r.mu.Lock()
	defer r.mu.Unlock()
	s.Epoch, s.Free = r.state.Epoch, r.state.Free
	for _, m := range r.state.Members {
		sight := r.seen[m.Term]
		living := m.Term == s.Fence.Term || !r.gone(&m)
		m.Says, m.Grants = nil, maps.Clone(m.Grants)
		s.Members = append(s.Members, Member{Member: m, Silent: time.Since(sight.since), Living: living})
	}
	return s
}

// beats returns the highest State.Beats that this process has seen.
func (r *roster) beats() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.high
}

// dead reports whether a member is taken for dead.
func (r *roster) dead(m *fleet.Member) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone(m)
}
