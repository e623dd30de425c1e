package detect

import (
	"context"
	"fmt"
	"sync"

	"github.com/streamwatch/streamwatch/detect/internal/accounts"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
)

// mailbox is a shard's inbox: a slice and a one-slot bell. Who puts never
// blocks; what is in it is bounded by the polls under way and by callers that
// wait for their answer.
type mailbox struct {
	mu   sync.Mutex
	msgs []message
	bell chan struct{}
}

// message is one of its fields; err goes with settled.
type message struct {
	set     *setting
	remove  *removal
	landed  *poll.Poll // its pages have come
	settled *poll.Poll // what it brought is committed, or with err is not
	err     error
	ask     func(*shard)
}

// setting adds or replaces a source's subscription on this shard.
type setting struct {
	sub  accounts.Subscription
	done chan struct{}
}

// removal ends a source's subscription; done is closed when nothing of it can
// be committed any more.
type removal struct {
	sourceID string
	done     chan struct{}
}

func (r *removal) settled() { close(r.done) }

func newMailbox() *mailbox { return &mailbox{bell: make(chan struct{}, 1)} }

func (m *mailbox) put(msg message) {
	m.mu.Lock()
	m.msgs = append(m.msgs, msg)
	m.mu.Unlock()
	m.ring()
}

// ring wakes the shard.
func (m *mailbox) ring() {
	select {
	case m.bell <- struct{}{}:
	default:
	}
}

// take gives the messages in exchange for the last ones' space, cleared.
func (m *mailbox) take(last []message) []message {
	m.mu.Lock()
	defer m.mu.Unlock()
	msgs := m.msgs
	m.msgs = last[:0]
	return msgs
}

// ask lets a shard's goroutine run fn, and waits for it.
func (d *Detector) ask(ctx context.Context, sh *shard, fn func(*shard)) error {
	done := make(chan struct{})
	sh.mail.put(message{ask: func(sh *shard) { fn(sh); close(done) }})
	select {
	case <-done:
		return nil
	case <-d.stop: // Run waits for some who ask
		return ErrStopped
	case <-d.done:
		return ErrStopped
	case <-ctx.Done():
		return fmt.Errorf("detect: %w", context.Cause(ctx))
	}
}
