package wshub

import (
	"sort"
	"time"
)

// writeBatch is how many frames a writer takes at a time.
const writeBatch = 16

// turn is what a writer does next.
type turn int

const (
	level  turn = iota // nothing: it has everything
	write              // write the frames
	replay             // read from the store
	slow               // too much waits, and Policy is Close
)

// slowAfter is how long a client must have been behind before the policy applies, so
// that a burst alone makes no client slow.
const slowAfter = time.Second

// next gives c the frames to write. What waits for a connection is the part of
// the ring above its position, so a queue costs nothing but a number. Where more
// waits than may, and has for slowAfter, the policy is applied: this is asked
// between two writes, and a write takes at most writeTimeout. Who falls behind
// faster than that reads from the store. upTo is the position when all are
// written.
func (s *stream) next(c *conn, buf []*frame) (frames []*frame, upTo uint64, do turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pos := c.pos.Load()
	switch {
	case !s.found:
		return nil, pos, level
	case c.epoch != s.epoch: // what it has is of other numbers
		c.epoch, c.live, c.levelAt = s.epoch, true, time.Now()
		c.pos.Store(s.head)
		return append(buf[:0], gapFrame(1, s.head, s.epoch)), s.head, write
	}
	if pos >= s.head {
		c.live, c.levelAt = true, time.Now()
		return nil, pos, level
	}
	if c.live {
		if last, dropped := s.excess(c, pos); dropped > 0 && time.Since(c.levelAt) >= slowAfter {
			if s.h.opts.Policy == Close {
				return nil, pos, slow
			}
			s.h.dropped.Add(int64(dropped))
			return append(buf[:0], gapFrame(pos+1, last, s.epoch)), last, write
		}
	}
	if pos < s.base {
		if s.lost {
			return nil, pos, level // what the store has may be other events
		}
		c.live = false
		return nil, s.head, replay
	}
	i := s.after(pos)
	frames = buf[:0]
	for upTo = pos; i < len(s.ring) && len(frames) < writeBatch; i++ {
		if upTo = s.ring[i].seq; c.filter.wants(s.ring[i]) {
			frames = append(frames, s.ring[i])
		}
	}
	return frames, upTo, write
}

// after is the index of the first frame above pos.
func (s *stream) after(pos uint64) int {
	return sort.Search(len(s.ring), func(i int) bool { return s.ring[i].seq > pos })
}

// excess finds the oldest frames that must go for the rest to be within the
// bounds: the last of them, and how many there are for this client. The newest
// frame always stays.
func (s *stream) excess(c *conn, pos uint64) (last uint64, dropped int) {
	messages, bytes := s.h.opts.QueueMessages, s.h.opts.QueueBytes
	first := s.after(pos)
	if len(s.ring)-first <= messages && s.bytes <= bytes {
		return 0, 0
	}
	n, size, i := 0, 0, len(s.ring)-1
	for ; i >= first; i-- {
		if c.filter.wants(s.ring[i]) {
			n++
			size += len(s.ring[i].data)
			if n > messages || size > bytes && n > 1 {
				break
			}
		}
	}
	if i < first {
		return 0, 0
	}
	last = s.ring[i].seq
	for ; i >= first; i-- {
		if c.filter.wants(s.ring[i]) {
			dropped++
		}
	}
	return last, dropped
}

// queued counts what waits in memory for all connections.
func (s *stream) queued() (n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		for _, fr := range s.ring[s.after(c.pos.Load()):] {
			if c.filter.wants(fr) {
				n++
			}
		}
	}
	return n
}
