package push

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/internal/batch"
)

// turn records whether this process or another node of the fleet has the stream.
type turn struct {
	off  atomic.Bool // another node has the stream
	bell batch.Bell  // rung when off has changed

	mu    sync.Mutex
	cut   context.CancelFunc // ends the run under way; nil if there is none
	ended chan struct{}      // closed when that run has ended
}

// Take gives the stream to this process. The process connects from the position that is stored
// then.
func (s *Stream) Take() {
	if s != nil && s.turn.off.Swap(false) {
		s.turn.bell.Ring()
	}
}

// Give leaves the stream to another node. Position returns none from now on. Before Disconnect ends
// the connection, the accounts or queries must be given up.
func (s *Stream) Give() {
	if s != nil {
		s.turn.mu.Lock()
		defer s.turn.mu.Unlock()
		s.turn.off.Store(true)
	}
}

// Disconnect ends the connection of a stream that Give has left to another node. It returns when
// the connection has ended.
func (s *Stream) Disconnect(ctx context.Context) error {
	if s == nil || !s.turn.off.Load() {
		return nil
	}
	s.turn.mu.Lock()
	cut, ended := s.turn.cut, s.turn.ended
	s.turn.mu.Unlock()
	if cut == nil {
		return nil
	}
	cut()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("detect: %w", context.Cause(ctx))
	}
}

// begin waits until this process has the stream. It returns a context that is cancelled when the
// process loses the stream. The caller must call end.
func (t *turn) begin(ctx context.Context) (run context.Context, end func(), err error) {
	for {
		t.mu.Lock()
		if ctx.Err() == nil && !t.off.Load() {
			break
		}
		t.mu.Unlock()
		select {
		case <-t.bell:
		case <-ctx.Done():
			return nil, nil, context.Cause(ctx)
		}
	}
	defer t.mu.Unlock()
	run, cut := context.WithCancel(ctx)
	ended := make(chan struct{})
	t.cut, t.ended = cut, ended
	return run, func() {
		cut()
		t.mu.Lock()
		defer t.mu.Unlock()
		t.cut = nil
		close(ended)
	}, nil
}
