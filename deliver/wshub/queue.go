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
	slow                   // close: too much waits
)

// slowAfter is how long a client must be behind before it counts as slow. A short burst alone
// closes no connection.
const slowAfter = time.Second

// next returns the next action of c's writer, the frames to write, and c's position after them.
// The queue of a connection is the part of the ring above its position, so it needs no memory.
// A client is slow if its queue exceeds the bounds and it has been behind for slowAfter. The
// writer calls next between two writes. If the ring no longer has the frames that the client
// needs, the client reads from the store.
func (s *stream) next(c *conn, buf []*frame) (frames []*frame, upTo uint64, do action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pos := c.pos.Load()
	switch {
	case !s.found:
		return nil, pos, upToDate
	case c.epoch != s.epoch: // the position is a number of another epoch
		c.epoch, c.live, c.upToDateAt = s.epoch, true, time.Now()
		c.pos.Store(s.head)
		return append(buf[:0], gapFrame(1, s.head, s.epoch)), s.head, write
	}
	if pos >= s.head {
		c.live, c.upToDateAt = true, time.Now()
		return nil, pos, upToDate
	}
	if c.live && time.Since(c.upToDateAt) >= slowAfter && s.exceeds(c, pos) {
		return nil, pos, slow
	}
	if pos < s.base {
		if s.lost {
			return nil, pos, upToDate // wait: the store may have other events with these numbers
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

// exceeds reports whether c's queue exceeds the bounds. A queue of one frame never does.
func (s *stream) exceeds(c *conn, pos uint64) bool {
	n, size := 0, 0
	for _, fr := range s.ring[s.after(pos):] {
		if c.filter.wants(fr) {
			n++
			size += len(fr.data)
		}
	}
	return n > s.h.opts.QueueMessages || size > s.h.opts.QueueBytes && n > 1
}

// queued returns how many frames wait for clients, counted once for each client.
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
