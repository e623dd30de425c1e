package push

import (
	"context"
	"sync"
)

// maxOpen is how many posts may wait for their commit. The stream waits while there are that many.
const maxOpen = 4096

// Positions tracks the position up to which all posts of a stream are committed. It is safe
// for concurrent use.
type Positions struct {
	mu     sync.Mutex
	first  uint64   // number of the post open[0]
	open   []opened // posts in the order of reception
	done   string   // position up to which all posts are committed
	stored string   // last position known to be in the journal
	room   chan struct{}
}

// opened is a received post that is not committed, or follows a post that is not.
type opened struct {
	position string // position to resume from after the post
	done     bool
}

// NewPositions returns Positions without a position.
func NewPositions() *Positions { return &Positions{first: 1, room: make(chan struct{}, 1)} }

// Begin sets the position to the journal's. Posts that are still open no longer move it.
func (p *Positions) Begin(stored string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.stored = stored, stored
	for i := range p.open {
		p.open[i].position = ""
	}
}

// Add adds a post and returns its number, which is above 0. It waits while maxOpen posts are open.
func (p *Positions) Add(ctx context.Context, position string) (number uint64, err error) {
	for {
		p.mu.Lock()
		if len(p.open) < maxOpen {
			p.open = append(p.open, opened{position: position})
			number = p.first + uint64(len(p.open)) - 1
			p.mu.Unlock()
			return number, nil
		}
		p.mu.Unlock()
		select {
		case <-p.room:
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
	}
}

// Pass records a position that the stream reached without a post.
func (p *Positions) Pass(position string) {
	if position == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.open); n > 0 {
		p.open[n-1].position = position
	} else {
		p.done = position
	}
}

// Done records that posts are committed, or need no commit.
func (p *Positions) Done(numbers []uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range numbers {
		p.open[n-p.first].done = true
	}
	n := 0
	for n < len(p.open) && p.open[n].done {
		if at := p.open[n].position; at != "" {
			p.done = at
		}
		n++
	}
	if n == 0 {
		return
	}
	p.open, p.first = p.open[n:], p.first+uint64(n)
	select {
	case p.room <- struct{}{}:
	default:
	}
}

// With returns the position to store in the commit of the given posts. ok is false if the journal
// already has that position.
func (p *Positions) With(numbers []uint64) (position string, ok bool) {
	with := make(map[uint64]bool, len(numbers))
	for _, n := range numbers {
		with[n] = true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	position = p.done
	for i := range p.open {
		if !p.open[i].done && !with[p.first+uint64(i)] {
			break
		}
		if at := p.open[i].position; at != "" {
			position = at
		}
	}
	return position, position != p.stored
}

// Stored records that a position is in the journal.
func (p *Positions) Stored(position string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stored = position
}

// Resume returns the position to resume from: all posts before it are committed.
func (p *Positions) Resume() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}
