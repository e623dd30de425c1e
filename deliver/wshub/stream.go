package wshub

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// Bounds of a stream.
const (
	maxInbox    = 1024            // announced events that wait; beyond it they are read from the store
	readLimit   = 256             // events in one read of the store
	readTimeout = 5 * time.Second // of one read of the store
	ringFactor  = 4               // a stream keeps at most so many times what may wait for one client
)

// stream orders an owner's events and keeps those that some client has yet to get. It
// is one goroutine, which runs while the owner has a connection.
//
// An announced event that continues the sequence is taken from memory. Wherever one
// is missing, the stream reads on from the store, which shows a sequence number only
// together with all before it.
type stream struct {
	h     *Hub
	owner string
	refs  int // connections, counted under the hub's mutex
	bell  batch.Bell
	ready chan struct{} // closed when head is known
	stop  context.CancelFunc

	waiting atomic.Int32 // callers of outcome

	mu    sync.Mutex
	inbox []deliver.Event
	head  uint64 // everything up to here is in the ring, or was
	known bool   // head is a number that was really reached
	base  uint64 // the ring has everything above it
	ring  []*frame
	bytes int // of the ring
	conns map[*conn]struct{}
	moved chan struct{} // closed when a client got on while a caller waits
}

func newStream(h *Hub, owner string, stop context.CancelFunc) *stream {
	return &stream{h: h, owner: owner, stop: stop, bell: batch.NewBell(), ready: make(chan struct{}),
		conns: map[*conn]struct{}{}, moved: make(chan struct{})}
}

// announce queues a committed event. It does not block.
func (s *stream) announce(ev *deliver.Event) {
	s.mu.Lock()
	if len(s.inbox) >= maxInbox { // what is missing then is read
		clear(s.inbox)
		s.inbox = s.inbox[:0]
	}
	s.inbox = append(s.inbox, *ev)
	s.mu.Unlock()
	s.bell.Ring()
}

// run finds the head, then follows until ctx ends.
func (s *stream) run(ctx context.Context) {
	pause := backoff.NewExponentialBackOff(
		backoff.WithInitialInterval(50*time.Millisecond), backoff.WithMaxInterval(5*time.Second), backoff.WithMaxElapsedTime(0))
	timer := time.NewTimer(0) // finds the head at once
	defer timer.Stop()
	found, look := false, false // look: into the store, for what nobody announced
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.bell:
			if !found {
				continue // the timer is set
			}
		case <-timer.C:
			look = found
		}
		var err error
		if !found {
			if err = s.find(ctx); err == nil {
				found = true
				close(s.ready)
			}
		}
		if err == nil {
			err = s.follow(ctx, look)
			look = err != nil
		}
		wait := s.h.opts.CatchUp
		if err == nil {
			pause.Reset()
		} else if ctx.Err() == nil {
			s.h.opts.Logger.Error("reading events failed", "owner", s.owner, "error", err)
			wait = min(wait, pause.NextBackOff())
		}
		timer.Reset(wait)
	}
}

// find searches the store for the last sequence number, in about twice as many reads
// as the number has bits.
func (s *stream) find(ctx context.Context) error {
	var err error
	none := func(after uint64) bool { // none above
		if err != nil {
			return true
		}
		var evs []deliver.Event
		evs, err = s.h.read(ctx, s.owner, after, 1)
		return len(evs) == 0
	}
	low, high := uint64(0), uint64(1)
	for high < 1<<63 && !none(high-1) {
		low, high = high, high*2
	}
	for low < high { // the last is in low…high
		if mid := low + (high-low)/2; none(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.head, s.base = low, low
	return nil
}

// follow adds announced events in order. Where one is missing, or when look is set,
// it reads the store to its end: whatever was announced before that read was
// committed before it.
func (s *stream) follow(ctx context.Context, look bool) error {
	s.mu.Lock()
	inbox := s.inbox
	s.inbox = nil
	sort.Slice(inbox, func(i, j int) bool { return inbox[i].Seq < inbox[j].Seq })
	for i := range inbox {
		if look = look || inbox[i].Seq > s.head+1; look {
			break
		}
		s.push(&inbox[i])
	}
	after := s.head
	s.mu.Unlock()
	for look {
		evs, err := s.h.read(ctx, s.owner, after, readLimit)
		s.mu.Lock()
		for i := range evs {
			s.push(&evs[i])
		}
		after = s.head
		s.mu.Unlock()
		if err != nil {
			return err
		}
		look = len(evs) == readLimit
	}
	return nil
}

// push adds an event to the ring, unless it is there already, with a gap frame before
// it for numbers that the store no longer has. The caller holds the mutex.
func (s *stream) push(ev *deliver.Event) {
	if ev.Seq <= s.head {
		return
	}
	if s.known && ev.Seq > s.head+1 {
		s.add(gapFrame(s.head+1, ev.Seq-1))
	}
	s.add(eventFrame(ev))
	s.known = true
	s.trim()
	for c := range s.conns {
		c.bell.Ring()
	}
}

func (s *stream) add(fr *frame) {
	s.ring = append(s.ring, fr)
	s.bytes += len(fr.data)
	s.head = fr.seq
}

// trim removes frames that every client reading from the ring has got, and the oldest
// beyond the ring's bounds: clients that still need those read from the store.
func (s *stream) trim() {
	done := s.head
	for c := range s.conns {
		if pos := c.pos.Load(); c.live || pos >= s.base { // the others read from the store
			done = min(done, pos)
		}
	}
	n := 0
	for n < len(s.ring) && (s.ring[n].seq <= done ||
		len(s.ring)-n > ringFactor*s.h.opts.QueueMessages || s.bytes > ringFactor*s.h.opts.QueueBytes) {
		s.base = s.ring[n].seq
		s.bytes -= len(s.ring[n].data)
		s.ring[n] = nil
		n++
	}
	s.ring = s.ring[n:]
}

// join registers a connection, which resumes or starts from now. A connection that
// resumes after a number that was never reached, because the store was replaced,
// starts from now with a gap frame for all that there is. join waits until the head
// is known.
func (s *stream) join(ctx context.Context, c *conn, from start) error {
	select {
	case <-s.ready:
	case <-c.done: // the hub is closing
		return context.Canceled
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	reached := from.seq <= s.head
	s.mu.Unlock()
	if from.foreign {
		reached = false
	} else if from.resume && !reached {
		evs, err := s.h.read(ctx, s.owner, from.seq-1, 1)
		if err != nil {
			return err
		}
		reached = len(evs) > 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	pos := s.head
	switch {
	case from.resume && reached:
		pos = from.seq
	case from.resume:
		c.missed = gapFrame(1, s.head)
	}
	c.pos.Store(pos)
	c.live, c.levelAt = pos >= s.head, time.Now()
	s.conns[c] = struct{}{}
	return nil
}

func (s *stream) leave(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	close(s.moved)
	s.moved = make(chan struct{})
}

// progress wakes the callers of Send.
func (s *stream) progress() {
	if s.waiting.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moved)
	s.moved = make(chan struct{})
}
