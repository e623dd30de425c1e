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
	joined bool // a term has begun and, as far as is known, not ended
	fence  fleet.Fence
	parts  fleet.Set     // parts that the Host has, or will take
	given  fleet.Set     // parts that the Host has given and the store has not got back yet
	trust  time.Time     // the term is trusted until then
	wish   time.Time     // when a beat is requested; zero for none
	beats  batch.Bell    // wakes the loop of beats
	trusts batch.Bell    // wakes watch
	beat   chan struct{} // has a value while a beat is under way
}

func newStanding() *standing {
	return &standing{beats: batch.NewBell(), trusts: batch.NewBell(), beat: make(chan struct{}, 1)}
}

// begin notes that a term has begun.
func (s *standing) begin(f fleet.Fence, trust time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined, s.fence, s.trust, s.wish = true, f, trust, time.Time{}
	s.parts, s.given = fleet.Set{}, fleet.Set{}
	s.trusts.Ring()
}

// end notes that the term has ended. It is no longer trusted.
func (s *standing) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.joined, s.trust = false, time.Time{}
	s.trusts.Ring()
}

// drop forgets the parts of a term that has ended, after the Host has stopped them.
func (s *standing) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts, s.given = fleet.Set{}, fleet.Set{}
}

// sending notes that a beat begins: a request from now on is for the next one.
func (s *standing) sending() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wish = time.Time{}
}

// answered notes the answer to a beat: it replaces the fence and the parts, and the store has got
// back the parts in given.
func (s *standing) answered(st fleet.State, given fleet.Set, trust time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = s.given.Minus(given)
	s.fence, s.parts, s.trust = st.Fence, st.Own, trust
	s.trusts.Ring()
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

// Moved is called after the store has refused a commit with the fence "was" (ErrFenced). It waits
// until the beat under way has ended, and returns the present fence. If that is a later fence of the
// same term, it reports true: the caller can repeat the commit with it.
func (n *Node) Moved(ctx context.Context, was fleet.Fence) (fleet.Fence, bool) {
	select {
	case n.stand.beat <- struct{}{}:
		<-n.stand.beat
	case <-ctx.Done():
	}
	now := n.Fence()
	return now, now.Term == was.Term && now.Generation > was.Generation
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
