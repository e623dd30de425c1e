package wshub

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
)

const (
	maxPassed  = 128              // events whose ids a stream remembers
	checkEvery = 20 * time.Second // how often a stream checks that the store still has its newest event
)

// SetEpoch sets the epoch of the numbers of events: a store that has lost its last events
// gives their numbers to others, and has another epoch from then on. When it changes,
// connected clients get a gap frame and go on from the newest event. The epoch is 0, for none,
// at first. SetEpoch does not block.
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
// late, twice or in any order, and does not block. All calls during one read cause one more.
func (h *Hub) Announce(owner string, head uint64) {
	h.mu.Lock()
	s := h.streams[owner]
	h.mu.Unlock()
	if s != nil {
		s.hear(head)
	}
}

// numbering is what a stream knows of the numbers of its events. The stream's mutex guards
// it.
type numbering struct {
	want  uint64        // the hub's epoch
	epoch uint64        // of head and the ring
	found bool          // head was found in the epoch wanted
	ready chan struct{} // closed when found is set
	lost  bool          // the store has given a number twice: no event is taken until the epoch changes
	heard uint64        // the highest number that was announced without its event
	ids   passed
}

// begin makes the stream find its head in another epoch.
func (s *stream) begin(epoch uint64) {
	s.mu.Lock()
	s.want, s.inbox, s.heard = epoch, nil, 0
	if s.found {
		s.found = false
		s.ready = make(chan struct{})
	}
	s.mu.Unlock()
	s.bell.Ring()
}

// hear takes an announced number.
func (s *stream) hear(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.head {
		s.heard = max(s.heard, n)
		s.bell.Ring()
	}
}

// since returns the value of ?since= with which a client resumes after a number.
func since(epoch, seq uint64) string {
	if epoch == 0 {
		return strconv.FormatUint(seq, 10)
	}
	return strconv.FormatUint(epoch, 10) + "." + strconv.FormatUint(seq, 10)
}

// passed has the numbers, and the hashes of the ids, of the last events that a stream has
// passed.
type passed [maxPassed]struct{ seq, id uint64 }

func (p *passed) add(ev *deliver.Event) {
	at := &p[ev.Seq%maxPassed]
	at.seq, at.id = ev.Seq, fleet.Hash(ev.ID)
}

// other reports whether an event has the number of another event that was passed.
func (p *passed) other(ev *deliver.Event) bool {
	at := &p[ev.Seq%maxPassed]
	return at.seq == ev.Seq && at.id != fleet.Hash(ev.ID)
}

// tellLost calls Options.OnLost, once in an epoch, if the stream has seen a number twice.
func (s *stream) tellLost() {
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	if lost && s.h.lost.CompareAndSwap(false, true) {
		s.h.opts.OnLost()
	}
}
