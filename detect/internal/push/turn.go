package push

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/streamwatch/streamwatch/internal/batch"
)

// turn says whether a stream is this process's, or another node's of the fleet.
type turn struct {
	off  atomic.Bool // another's
	bell batch.Bell  // it has changed

	mu    sync.Mutex
	cut   context.CancelFunc // of the run under way, nil for none
	ended chan struct{}      // closed when that has ended
}

// Take makes the stream this process's: it connects, from the position that is stored
// then.
func (s *Stream) Take() {
	if s != nil && s.turn.off.Swap(false) {
		s.turn.bell.Ring()
	}
}

// Give makes the stream another node's: from now on Position returns none. The accounts or
// queries have to be given up before Disconnect ends the connection.
func (s *Stream) Give() {
	if s != nil {
		s.turn.mu.Lock()
		defer s.turn.mu.Unlock()
		s.turn.off.Store(true)
	}
}

// Disconnect ends the connection of a stream that is another node's, and waits for its end.
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

// begin waits until the stream is this process's, and returns a context that ends when it
// is not any more. end has to be called.
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
