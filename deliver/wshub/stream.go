package wshub

import (
	"context"
	"sort"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/batch"
)

// Bounds of a stream.
const (
	maxInbox    = 1024            // announced events that wait; if there are more, all are read from the store
	readLimit   = 256             // events in one read of the store
	readTimeout = 5 * time.Second // of one read of the store
	readAgain   = time.Second     // after one that failed
	ringFactor  = 4               // the bounds of the ring, as a multiple of those of one client
)

// stream puts an owner's events in the order of their numbers. Its ring keeps the events that
// some client has not got yet. Its goroutine runs while the owner has a connection.
//
// If an announced event has the next number after the head, the stream adds it to the ring. If
// numbers are missing, the stream reads the store instead. The store shows an event only after
// all events with lower numbers.
type stream struct {
	h     *Hub
	owner string
	refs  int // connections, counted under the hub's mutex
	bell  batch.Bell
	stop  context.CancelFunc

	waiting atomic.Int32 // calls of Hub.Send under way

	mu sync.Mutex
	numbering
	inbox []deliver.Event // announced, and not in the ring yet
	head  uint64          // the last number that was added to the ring, or that find has found
	known bool            // an event was added since find; until then missing numbers above head are no gap
	base  uint64          // the ring has every frame above base, up to head
	ring  []*frame
	bytes int // of the ring
	conns map[*conn]struct{}
	moved chan struct{} // closed and replaced when a client's position changes while Hub.Send waits
}

func newStream(h *Hub, owner string, epoch uint64, stop context.CancelFunc) *stream {
	return &stream{h: h, owner: owner, numbering: numbering{want: epoch, ready: make(chan struct{})}, stop: stop, bell: batch.NewBell(),
		conns: map[*conn]struct{}{}, moved: make(chan struct{})}
}

// announce queues a committed event. It does not block.
func (s *stream) announce(ev *deliver.Event) {
	s.mu.Lock()
	if len(s.inbox) >= maxInbox { // follow reads the dropped events from the store
		clear(s.inbox)
		s.inbox = s.inbox[:0]
	}
	s.inbox = append(s.inbox, *ev)
	s.mu.Unlock()
	s.bell.Ring()
}

// run finds the head, then adds events until ctx ends.
func (s *stream) run(ctx context.Context) {
	timer := time.NewTimer(0) // find the head immediately
	defer timer.Stop()
	var checked time.Time        // when the stream last checked that the store has its newest event
	look, failed := false, false // look says to read the store for events that were not announced
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.bell:
			if failed && !s.isFound() {
				continue // the timer is set
			}
		case <-timer.C:
			look = s.isFound()
		}
		var err error
		if !s.isFound() {
			err = s.find(ctx)
		}
		if err == nil {
			err = s.follow(ctx, look, &checked)
			look = err != nil
		}
		wait := s.h.opts.CatchUp
		if err != nil {
			wait = min(wait, readAgain)
		}
		if err != nil && !failed {
			s.h.logError("cannot read events: trying each second", "owner", s.owner, "error", err)
		}
		failed = err != nil
		timer.Reset(wait)
	}
}

func (s *stream) isFound() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.found
}

// find searches the store for the last sequence number and makes it the head. It needs about two
// reads for each bit of the number.
func (s *stream) find(ctx context.Context) error {
	s.mu.Lock()
	epoch := s.want
	s.mu.Unlock()
	var err error
	var last deliver.Event
	none := func(after uint64) bool { // reports whether there is no event above after
		if err != nil {
			return true
		}
		var evs []deliver.Event
		if evs, err = s.h.read(ctx, s.owner, after, 1); len(evs) > 0 {
			last = evs[0]
		}
		return len(evs) == 0
	}
	low, high := uint64(0), uint64(1)
	for high < 1<<63 && !none(high-1) {
		low, high = high, high*2
	}
	for low < high { // the last number is between low and high, both included
		if mid := low + (high-low)/2; none(mid) {
			high = mid
		} else {
			low = mid + 1
		}
	}
	if low > 0 && s.h.opts.OnLost != nil {
		none(low - 1)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if epoch != s.want {
		s.bell.Ring() // find the head of the new epoch
		return nil
	}
	s.ring, s.bytes, s.ids = nil, 0, passed{}
	s.head, s.base, s.known = low, low, false
	if last.Seq == low {
		s.ids.add(&last)
	}
	s.epoch, s.found, s.lost = epoch, true, false
	close(s.ready)
	for c := range s.conns {
		c.bell.Ring()
	}
	return nil
}

// follow adds announced events in order. If a number is missing or look is set, it reads the
// store to its end. That read includes all events announced so far.
func (s *stream) follow(ctx context.Context, look bool, checked *time.Time) error {
	s.mu.Lock()
	inbox := s.inbox
	s.inbox = nil
	if !s.found || s.lost {
		s.mu.Unlock()
		return nil
	}
	sort.Slice(inbox, func(i, j int) bool { return inbox[i].Seq < inbox[j].Seq })
	for i := range inbox {
		if inbox[i].Seq > s.head && (look || inbox[i].Seq > s.head+1) {
			look = true
			break
		}
		s.push(&inbox[i])
	}
	heard := s.heard > s.head
	look, s.heard = look || heard, 0
	s.mu.Unlock()
	var err error
	if look {
		check := s.h.opts.OnLost != nil && (heard || time.Since(*checked) >= checkEvery)
		if check {
			*checked = time.Now()
		}
		err = s.catchUp(ctx, check)
	}
	s.tellLost()
	return err
}

// catchUp adds the store's events above the head. With check it reads the event at the head
// again: if the store has another event under that number, it has lost events.
func (s *stream) catchUp(ctx context.Context, check bool) error {
	for after, first := s.take(nil), true; ; first = false {
		if check && after > 0 {
			after--
		}
		evs, err := s.h.read(ctx, s.owner, after, readLimit)
		if first && !check && len(evs) > 0 && s.h.opts.OnLost != nil {
			check = true // read again: before events that were not announced, others may be lost
			continue
		}
		after, check = s.take(evs), false
		if err != nil || len(evs) < readLimit {
			return err
		}
	}
}

// take adds events from the store, and returns the head.
func (s *stream) take(evs []deliver.Event) (head uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range evs {
		if s.found { // else the events may be of another epoch
			s.push(&evs[i])
		}
	}
	return s.head
}

// push adds an event to the ring if its number is above the head. Before it, push adds a gap
// frame for numbers that the store no longer has. The caller holds the mutex.
func (s *stream) push(ev *deliver.Event) {
	if s.lost = s.lost || s.h.opts.OnLost != nil && s.ids.other(ev); ev.Seq <= s.head || s.lost {
		return
	}
	if s.h.opts.OnLost != nil {
		s.ids.add(ev)
	}
	if s.known && ev.Seq > s.head+1 {
		s.add(gapFrame(s.head+1, ev.Seq-1, s.epoch))
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

// trim removes the frames that every client has got, and the oldest frames until the
// ring is within its bounds. Clients that still need a removed frame read from the store.
func (s *stream) trim() {
	done := s.head
	for c := range s.conns {
		done = min(done, c.pos.Load())
	}
	for len(s.ring) > 0 && (s.ring[0].seq <= done || len(s.ring) > ringFactor*s.h.opts.QueueMessages || s.bytes > ringFactor*s.h.opts.QueueBytes) {
		s.base = s.ring[0].seq
		s.bytes -= len(s.ring[0].data)
		s.ring[0] = nil
		s.ring = s.ring[1:]
	}
}

// join registers a connection and sets its position. It waits until the head is known. A
// connection that does not resume begins at the head. So does one that resumes after a number of
// another epoch, or a number beyond the newest event; it gets a gap frame for all events first.
func (s *stream) join(ctx context.Context, c *conn, from start) error {
	s.mu.Lock()
	ready := s.ready
	s.mu.Unlock()
	select {
	case <-ready:
	case <-c.done: // the hub is closing
		return context.Canceled
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s.mu.Lock()
	epoch, reached := s.epoch, from.seq <= s.head
	s.mu.Unlock()
	if !from.of(epoch) {
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
	c.epoch = s.epoch
	switch {
	case from.resume && reached && s.epoch == epoch:
		pos = from.seq
	case from.resume:
		c.missed = gapFrame(1, s.head, s.epoch)
	}
	c.pos.Store(pos)
	c.live, c.upToDateAt = pos >= s.head, time.Now()
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

// progress wakes the callers of Hub.Send.
func (s *stream) progress() {
	if s.waiting.Load() == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.moved)
	s.moved = make(chan struct{})
}
