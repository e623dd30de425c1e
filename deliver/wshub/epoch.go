package wshub

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

const (
	maxPassed   = 128              // events whose ids a stream remembers
	checkEvery  = 20 * time.Second // how often a stream looks whether its newest event is still there
	doubtsEvery = time.Second      // how often it does because of an announcement
)

// SetEpoch says what the numbers of events belong to: a store that has lost its last
// events gives their numbers to others, and has another epoch from then on. Clients that
// are connected get a gap frame when it changes, and go on from the newest event. 0, as at
// the beginning, is none. It does not block.
func (h *Hub) SetEpoch(epoch uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.epoch == epoch {
		return
	}
	h.epoch = epoch
	h.lost.Store(false)
	for _, s := range h.streams {
		s.begin(epoch)
	}
}

// Announce says that another process has committed events of an owner, up to the number
// head: they are read from the store now, if the owner has a connection. It may be called
// late, twice or in any order, and does not block. Calls that come during a read are one
// read.
func (h *Hub) Announce(owner string, head uint64) {
	h.mu.Lock()
	s := h.streams[owner]
	h.mu.Unlock()
	if s != nil {
		s.hear(head)
	}
}

// numbering is what a stream knows of its numbers beside the events. The stream's mutex
// guards it.
type numbering struct {
	want  uint64        // the epoch
	epoch uint64        // of head and the ring
	found bool          // they are of the epoch that is wanted
	ready chan struct{} // closed when found is set
	lost  bool          // the store has given numbers twice: nothing more is taken in this epoch
	heard uint64        // the highest number that was announced without its event
	doubt uint64        // one that was announced after it was passed, 0 for none
	ids   passed
}

// begin has the stream find its head anew, in another epoch.
func (s *stream) begin(epoch uint64) {
	s.mu.Lock()
	s.want, s.inbox, s.heard, s.doubt = epoch, nil, 0, 0
	if s.found {
		s.found = false
		s.ready = make(chan struct{})
	}
	s.mu.Unlock()
	s.bell.Ring()
}

// hear takes an announced number. One that the stream has passed is mostly late, but may
// be that of another event.
func (s *stream) hear(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case n > s.head:
		s.heard = max(s.heard, n)
	case s.h.opts.OnLost != nil:
		s.doubt = n
	default:
		return
	}
	s.bell.Ring()
}

// since is what a client resumes with after a number.
func since(epoch, seq uint64) string {
	if epoch == 0 {
		return strconv.FormatUint(seq, 10)
	}
	return strconv.FormatUint(epoch, 10) + "." + strconv.FormatUint(seq, 10)
}

// passed are the events that a stream has passed last, by number.
type passed [maxPassed]struct{ seq, id uint64 }

func (p *passed) add(ev *deliver.Event) {
	at := &p[ev.Seq%maxPassed]
	at.seq, at.id = ev.Seq, fleet.Hash(ev.ID)
}

// other reports whether an event has the number of another one.
func (p *passed) other(ev *deliver.Event) bool {
	at := &p[ev.Seq%maxPassed]
	return at.seq == ev.Seq && at.id != fleet.Hash(ev.ID)
}

// checks are when a stream looked last whether its events are still there, and whether an
// announcement was late.
type checks struct{ at, doubts time.Time }

// due returns what a read is to begin with: the newest event that the stream has passed,
// when others were heard of and now and then; and one that is in doubt. The caller holds
// the mutex.
func (s *stream) due(look, heard bool, done *checks) (check bool, doubt uint64) {
	if s.h.opts.OnLost == nil {
		return false, 0
	}
	now := time.Now()
	if check = look && (heard || now.Sub(done.at) >= checkEvery); check {
		done.at = now
	}
	if s.doubt > 0 && now.Sub(done.doubts) >= doubtsEvery {
		doubt, s.doubt, done.doubts = s.doubt, 0, now
	}
	return check, doubt
}

// tellLost tells the hub's owner when the stream has seen a number twice.
func (s *stream) tellLost() {
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	if lost && s.h.lost.CompareAndSwap(false, true) {
		s.h.opts.OnLost()
	}
}
