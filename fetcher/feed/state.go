package feed

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/feed/internal/websub"
)

// state is what a Fetcher keeps of a feed.
type state struct {
	turn   chan struct{} // held while memory is used; a channel, for Memory may take its time
	memory *memory       // nil until it is loaded

	mu sync.Mutex
	polled
}

// polled is what the answers of a feed's server have said.
type polled struct {
	moved  *url.URL  // where the feed is for good, nil for its own address
	asked  time.Time // when the last answer was asked for
	pause  time.Time // the publisher does not want to be asked before
	closed time.Time // the server is not to be asked before: it has refused, with Retry-After or for good
	why    error     // what that refusal says of the feed, nil for nothing
	gone   time.Time // since when every answer was 410
	doc    pauses    // what the document said last

	validated validators // of the page that is kept

	topic websub.Topic // and the hubs that a document has named last
}

// state returns what is kept of an account's feed.
func (f *Fetcher) state(a *account) *state {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.feeds[a.id]
	if s != nil {
		return s
	}
	if len(f.feeds) >= maxFeeds {
		for id := range f.feeds { // any: none is worth more than another
			delete(f.feeds, id)
			break
		}
	}
	s = &state{turn: make(chan struct{}, 1)}
	f.feeds[a.id] = s
	return s
}

func (s *state) get() polled {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.polled
}

func (s *state) set(change func(*polled)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change(&s.polled)
}

// posts identifies the entries of a document. Those that seen knows are counted alone;
// others are mapped. It may be nil. Each entry is there once, newest first.
func (f *Fetcher) posts(ctx context.Context, a *account, doc *document, older bool, seen func(string) bool) (posts, error) {
	found, err := f.identify(ctx, a, doc, older)
	if err != nil {
		return posts{}, fmt.Errorf("feed: %s: %w", a.url.Host, err)
	}
	return newPosts(a, doc, found, seen), nil
}

// identify tells which entries a document shows, and stores what is new of that.
func (f *Fetcher) identify(ctx context.Context, a *account, doc *document, older bool) ([]identified, error) {
	s := f.state(a)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.memory == nil {
		var err error
		if s.memory, err = f.load(ctx, a); err != nil {
			return nil, err
		}
	}
	found := s.memory.identify(a, doc, f.cfg.Now(), older)
	return found, f.save(ctx, a, s)
}

func (f *Fetcher) load(ctx context.Context, a *account) (*memory, error) {
	if f.cfg.Memory == nil {
		return loadMemory(nil)
	}
	text, err := f.cfg.Memory.Load(ctx, a.id)
	if err != nil {
		return nil, fmt.Errorf("loading what the feed has shown: %w", err)
	}
	return loadMemory(text)
}

// save stores what is new of a feed's memory. The caller has the turn.
func (f *Fetcher) save(ctx context.Context, a *account, s *state) error {
	if f.cfg.Memory == nil || !s.memory.dirty {
		return nil
	}
	text, err := s.memory.state()
	if err == nil {
		err = f.cfg.Memory.Save(ctx, a.id, text)
	}
	if err != nil {
		return fmt.Errorf("storing what the feed has shown: %w", err)
	}
	s.memory.dirty = false
	return nil
}

// close notes that a server is not to be asked for a time, since it refused with err.
func (s *state) close(until time.Time, err error) {
	s.set(func(p *polled) {
		p.closed, p.why = until, nil
		for _, lasting := range []error{fetcher.ErrNotFound, fetcher.ErrProtected, fetcher.ErrUnauthorized} {
			if errors.Is(err, lasting) {
				p.why = lasting
			}
		}
	})
}

// refusal is the answer while the server is not to be asked: the refusal still holds.
func (p *polled) refusal(wait time.Duration) error {
	limit := &fetcher.RateLimitError{RetryAfter: wait, Target: true, Reason: "the server has asked to wait"}
	if !p.gone.IsZero() {
		limit.Reason = "the server says that the feed is gone (410)"
	}
	if p.why != nil {
		return fmt.Errorf("%w: %w", p.why, limit)
	}
	return limit
}
