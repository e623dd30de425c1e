package wshub

import (
	"sort"
	"time"
)

// writeBatch is how many frames a writer takes at a time.
const writeBatch = 16

// action is what a writer does next.
type action int

const (
	upToDate action = iota // wait: the client has everything
	write                  // write the frames
	replay                 // read from the store
	slow                   // close: too much waits, and Policy is Close
)

// slowAfter is how long a client must have been behind before the policy applies, so
// that a burst alone makes no client slow.
const slowAfter = time.Second

// next returns what c's writer does next, the frames to write, and the position when all of
// them are written. The queue of a connection is the part of the ring above its position, so
// it takes no memory of its own. If the queue exceeds the bounds, and the client has been
// behind for slowAfter, the policy applies. next is called between two writes, and a write
// takes at most writeTimeout; a client that has fallen behind the ring by then reads from the
// store.
func (s *stream) next(c *conn, buf []*frame) (frames []*frame, upTo uint64, do action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pos := c.pos.Load()
	switch {
	case !s.found:
		return nil, pos, upToDate
	case c.epoch != s.epoch: // the position is a number of another epoch
		c.epoch, c.from, c.live, c.upToDateAt = s.epoch, s.head, true, time.Now()
		c.pos.Store(s.head)
		return append(buf[:0], gapFrame(1, s.head, s.epoch)), s.head, write
	}
	if pos >= s.head {
		c.live, c.upToDateAt = true, time.Now()
		return nil, pos, upToDate
	}
	if c.live {
		if last, dropped := s.excess(c, pos); dropped > 0 && time.Since(c.upToDateAt) >= slowAfter {
			if s.h.opts.Policy == Close {
				return nil, pos, slow
			}
			s.h.dropped.Add(int64(dropped))
			return append(buf[:0], gapFrame(pos+1, last, s.epoch)), last, write
		}
	}
	if pos < s.base {
		if s.lost {
			return nil, pos, upToDate // the store may have other events under these numbers
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

// after returns the index of the first frame in the ring above pos.
func (s *stream) after(pos uint64) int {
	return sort.Search(len(s.ring), func(i int) bool { return s.ring[i].seq > pos })
}

// excess finds the oldest frames of c's queue that have to be dropped so that the rest is
// within the bounds. It returns the number of the last one, and how many they are. The newest
// frame is never dropped.
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

// queued returns how many frames wait in memory for connections, counted once for each.
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
