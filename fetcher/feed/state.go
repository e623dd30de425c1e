package feed

import (
	"context"
	"fmt"
	"net/url"
	"sync"
	"time"
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
	final  *url.URL  // where the last answer came from
	asked  time.Time // when it was asked for
	pause  time.Time // the publisher does not want to be asked before
	closed time.Time // the server has refused with Retry-After until then
	gone   time.Time // since when every answer was 410
	doc    pauses    // what the document said last
}

// state returns what is kept of an account's feed.
func (f *Fetcher) state(a *account) *state {
	f.mu.Lock()
	defer f.mu.Unlock()
	s := f.feeds[a.id]
	if s != nil {
		return s
	}
	if len(f.feeds) >= f.cfg.MaxFeeds {
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

// kind says how a document came.
type kind uint8

const (
	newest kind = iota // it was read, and shows the newest entries
	older              // it was read, and shows older ones
	pushed             // the publisher has sent it, with all or with some entries
)

// posts identifies the entries of a document. Those that seen knows are counted alone;
// others are mapped. It may be nil. Each entry is there once, newest first.
func (f *Fetcher) posts(ctx context.Context, a *account, doc *document, k kind, seen func(string) bool) (posts, error) {
	found, err := f.identify(ctx, a, doc, k)
	if err != nil {
		return posts{}, fmt.Errorf("feed: %s: %w", a.url.Host, err)
	}
	return newPosts(a, doc, found, seen), nil
}

// identify tells which entries a document shows, and stores what is new of that.
func (f *Fetcher) identify(ctx context.Context, a *account, doc *document, k kind) ([]identified, error) {
	s := f.state(a)
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.memory == nil {
		m, err := f.load(ctx, a)
		if err != nil {
			return nil, err
		}
		s.memory = m
	}
	found := s.memory.identify(a, doc, f.cfg.Now(), k)
	if f.cfg.Memory == nil || !s.memory.dirty {
		return found, nil
	}
	text, err := s.memory.state()
	if err == nil {
		err = f.cfg.Memory.Save(ctx, a.id, text)
	}
	if err != nil {
		return nil, fmt.Errorf("storing what the feed has shown: %w", err)
	}
	s.memory.dirty = false
	return found, nil
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
