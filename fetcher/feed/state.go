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

// state is what a Fetcher remembers about a feed.
type state struct {
	turn   chan struct{} // lock of memory; a channel, because waiting for it must end with ctx
	memory *memory       // nil until loaded

	mu sync.Mutex
	polled
}

// polled has the results of earlier requests for a feed.
type polled struct {
	moved  *url.URL  // target of a permanent redirect, nil for the feed's own URL
	via    string    // the other host to which redirects led, "" for none
	asked  time.Time // time of the last successful request
	turn   time.Time // time of the last turn: see hosts.turn
	pause  time.Time // no request before this time, because the publisher asks for that
	closed time.Time // no request before this time, because the server refused the last one
	why    error     // the lasting error of that refusal, or nil
	gone   time.Time // time of the first 410, if all answers since then were 410
	doc    pauses    // the pauses in the last document
	lost   int       // items of it that could not be read

	validated validators // for the page in Fetcher.pages

	topic websub.Topic // topic and hubs in the last document that named any
}

// state returns the state of an account's feed. If there is none, it adds a new state.
func (f *Fetcher) state(a *account) *state {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.feeds[a.id]
	if s != nil {
		return s
	}
	if len(f.feeds) >= maxFeeds {
		for id := range f.feeds { // remove any one
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

// posts returns the entries of a document as posts, newest first and without duplicates. It
// only counts entries that seen reports as known. seen may be nil.
func (f *Fetcher) posts(ctx context.Context, a *account, doc *document, older bool, seen func(string) bool) (posts, error) {
	found, err := f.identify(ctx, a, doc, older)
	if err != nil {
		return posts{}, fmt.Errorf("feed: %s: %w", a.url.Host, err)
	}
	return newPosts(a, doc, found, seen), nil
}

// identify returns the entries of a document with their records, and stores new records.
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

// save stores a feed's memory if it has changed. The caller holds s.turn.
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

// close prevents requests for the feed until the given time. err is the server's refusal.
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

// refusal returns the error of a poll that made no request. wait is the time until the next
// request is allowed.
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
