package node

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// standing is the state of the node's own term, shared by all its goroutines.
type standing struct {
	mu     sync.Mutex
	phase  phase
	joined bool // a term has begun and, as far as is known, not ended
	fence  fleet.Fence
	parts  fleet.Set     // parts that the Host has, or will take
	given  fleet.Set     // parts that the Host has given and the store has not got back yet
	trust  time.Time     // the term is trusted until then
	begun  uint64        // number of beats begun
	ended  uint64        // number of beats that have ended
	turn   chan struct{} // closed when a beat ends
	wish   time.Time     // when a beat is requested; zero for none
	beats  batch.Bell    // wakes the loop of beats
	trusts batch.Bell    // wakes watch
}

// phase tells whether Run or Leave is running or has returned.
type phase int

const (
	idle phase = iota
	running
	stopped
	leaving
	over
)

func newStanding() *standing {
	return &standing{turn: make(chan struct{}), beats: batch.NewBell(), trusts: batch.NewBell()}
}

func (s *standing) start() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != idle || s.fence.IsZero() {
		return false
	}
	s.phase = running
	return true
}

func (s *standing) leave() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == running || s.phase == leaving || s.phase == over {
		return false
	}
	s.phase = leaving
	return true
}

// stop ends the phase, and wakes the callers that wait for a beat.
func (s *standing) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase++; s.phase > over {
		s.phase = over
	}
	s.next()
}

// next wakes the callers that wait for a beat. The caller holds the mutex.
func (s *standing) next() {
	close(s.turn)
	s.turn = make(chan struct{})
}

// begin notes that a term has begun.
func (s *standing) begin(f fleet.Fence, trust time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined, s.fence, s.trust, s.wish = true, f, trust, time.Time{}
	s.parts, s.given = fleet.Set{}, fleet.Set{}
	s.next()
	s.trusts.Ring()
}

// end notes that the term has ended. It is no longer trusted.
func (s *standing) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined, s.trust = false, time.Time{}
	s.next()
	s.trusts.Ring()
}

// drop forgets the parts of a term that has ended, after the Host has stopped them.
func (s *standing) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts, s.given = fleet.Set{}, fleet.Set{}
}

func (s *standing) sending() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begun++
	s.wish = time.Time{}
}

// sent notes that a beat has ended. If err is nil, the store has got back the parts in given, and
// the answer st replaces the fence and the parts.
func (s *standing) sent(st fleet.State, given fleet.Set, trust time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = s.begun
	if err == nil {
		s.given = s.given.Minus(given)
		s.fence, s.parts, s.trust = st.Fence, st.Own, trust
		s.trusts.Ring()
	}
	s.next()
}

// gave notes that the Host has given some parts.
func (s *standing) gave(given fleet.Set) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts, s.given = s.parts.Minus(given), s.given.Plus(given)
}

// untold returns the parts that the Host has given and the store has not got back yet.
func (s *standing) untold() fleet.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.given
}

func (s *standing) present() fleet.Fence {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fence
}

func (s *standing) own() fleet.Set {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.parts
}

func (s *standing) isJoined() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.joined
}

// ask requests a beat within the duration in.
func (s *standing) ask(in time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.askLocked(in)
}

func (s *standing) askLocked(in time.Duration) {
	if at := time.Now().Add(in); s.wish.IsZero() || at.Before(s.wish) {
		s.wish = at
		s.beats.Ring()
	}
}

func (s *standing) wished() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wish
}

// trusted returns how long the term will be trusted, or 0 or less if it is not trusted now.
func (s *standing) trusted() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Until(s.trust)
}

// moved is Node.Moved.
func (s *standing) moved(ctx context.Context, was fleet.Fence) (fleet.Fence, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	need, asked := s.begun, false // a beat under way may change the fence
	for {
		switch {
		case !s.joined || s.fence.Term != was.Term || s.phase != running && s.phase != leaving:
			return s.fence, false
		case s.fence.Generation > was.Generation:
			return s.fence, true
		case s.ended < need:
		case asked:
			return s.fence, false
		default: // the answer of an earlier beat was lost, or the term was ended
			need, asked = s.begun+1, true
			s.askLocked(0)
		}
		turn := s.turn
		s.mu.Unlock()
		select {
		case <-turn:
		case <-ctx.Done():
		}
		s.mu.Lock()
		if ctx.Err() != nil {
			return s.fence, false
		}
	}
}

// Moved is called after the store has refused a commit with the fence "was" (ErrFenced). It waits
// until the beat under way has ended. If the fence is still the same, it waits for another beat.
// It returns the present fence. If that is a later fence of the same term, it reports true: the
// caller can repeat the commit with it.
func (n *Node) Moved(ctx context.Context, was fleet.Fence) (fleet.Fence, bool) {
	return n.stand.moved(ctx, was)
}

// watch calls Host.Hold(true) when the term is no longer trusted, and Hold(false) when it is
// again. It never calls the store, because a slow answer could delay Hold.
func (n *Node) watch(ctx context.Context) {
	held := false
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		left := n.stand.trusted()
		if hold := left <= 0; hold != held {
			held = hold
			if hold {
				n.cfg.Logger.Warn("the term is not trusted: no beat has been answered in time")
			} else {
				n.cfg.Logger.Info("the term is trusted again")
			}
			n.cfg.Host.Hold(hold)
		}
		if held {
			left = time.Hour // the bell comes first
		}
		timer.Reset(left)
		select {
		case <-timer.C:
		case <-n.stand.trusts:
		case <-ctx.Done():
			return
		}
	}
}
