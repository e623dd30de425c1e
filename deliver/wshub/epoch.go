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

// SetEpoch sets the epoch of the event numbers; a new hub has epoch 0, for none. A store that
// has lost its last events gets a new epoch, since it gives their numbers to other events. When
// the epoch changes, connected clients get a gap frame and continue from the newest event.
// SetEpoch does not block.
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

// Announce says that another process has committed an owner's events up to the number head. If
// the owner has a connection, the hub reads them from the store. Announce may be called late,
// twice or in any order. It does not block. All calls during one read cause one more read.
func (h *Hub) Announce(owner string, head uint64) {
	h.mu.Lock()
	s := h.streams[owner]
	h.mu.Unlock()
	if s != nil {
		s.hear(head)
	}
}

// numbering is the part of a stream's state that concerns epochs and lost events. The stream's
// mutex guards it.
type numbering struct {
	want  uint64        // the hub's epoch
	epoch uint64        // of head and the ring
	found bool          // find has set head in the epoch want
	ready chan struct{} // closed when found is set
	lost  bool          // two events had the same number: no event is added until the epoch changes
	heard uint64        // the highest head given to Hub.Announce since the last read; 0 for none
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

// hear notes that events up to n are stored, and wakes the stream if n is above the head.
func (s *stream) hear(n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n > s.head {
		s.heard = max(s.heard, n)
		s.bell.Ring()
	}
}

// since returns the ?since= value for a client that resumes after event seq.
func since(epoch, seq uint64) string {
	if epoch == 0 {
		return strconv.FormatUint(seq, 10)
	}
	return strconv.FormatUint(epoch, 10) + "." + strconv.FormatUint(seq, 10)
}

// passed keeps the numbers and the hashed ids of the last events that a stream has added.
type passed [maxPassed]struct{ seq, id uint64 }

func (p *passed) add(ev *deliver.Event) {
	at := &p[ev.Seq%maxPassed]
	at.seq, at.id = ev.Seq, fleet.Hash(ev.ID)
}

// other reports whether the event has the same number as an earlier event with another id.
func (p *passed) other(ev *deliver.Event) bool {
	at := &p[ev.Seq%maxPassed]
	return at.seq == ev.Seq && at.id != fleet.Hash(ev.ID)
}

// tellLost calls Options.OnLost, once in an epoch, if two events had the same number.
func (s *stream) tellLost() {
	s.mu.Lock()
	lost := s.lost
	s.mu.Unlock()
	if lost && s.h.lost.CompareAndSwap(false, true) {
		s.h.opts.OnLost()
	}
}
