package wshub_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/wshub"
	"github.com/streamwatch/streamwatch/fetcher"
)

// store is a deliver.Log's Events: numbers go to an owner's events in order of
// commit, whoever announces them when.
type store struct {
	mu     sync.Mutex
	events map[string][]deliver.Event
	last   map[string]uint64
	lost   int // how often the last events were lost
	reads  int
	given  int // events, in all reads
	err    error
	delay  func() // before an answer
}

func newStore() *store {
	return &store{events: map[string][]deliver.Event{}, last: map[string]uint64{}}
}

// commit stores one event per source, and returns them with their numbers.
func (s *store) commit(srcs ...deliver.Source) []deliver.Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []deliver.Event
	for _, src := range srcs {
		s.last[src.Owner]++
		ev := event(src, s.last[src.Owner])
		if s.lost > 0 {
			ev.ID = deliver.EventID(src.ID, fmt.Sprint(ev.TweetID, " ", s.lost))
		}
		s.events[src.Owner] = append(s.events[src.Owner], ev)
		out = append(out, ev)
	}
	return out
}

// commitFor is commit of events that a hub was asked about, as an engine does.
func (s *store) commitFor(hub *wshub.Hub, src deliver.Source) (deliver.Event, bool) {
	name, ok := hub.Handler(src)
	ev := s.commit(src)[0]
	s.mu.Lock()
	defer s.mu.Unlock()
	if ok {
		ev.Handlers = []string{name}
		list := s.events[src.Owner]
		list[len(list)-1] = ev
	}
	return ev, ok
}

// remove is what retention does.
func (s *store) remove(owner string, seqs ...uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[owner] = slices.DeleteFunc(s.events[owner], func(e deliver.Event) bool { return slices.Contains(seqs, e.Seq) })
}

// lose is a failover to a store that has an owner's events up to n.
func (s *store) lose(owner string, n uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.events[owner] = slices.DeleteFunc(s.events[owner], func(e deliver.Event) bool { return e.Seq > n })
	s.last[owner] = n
	s.lost++
}

// cost returns how many reads there were, and how many events they gave.
func (s *store) cost() (reads, given int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads, s.given
}

// slow has reads take their time from now on.
func (s *store) slow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.delay = func() { <-time.After(d) }
}

func (s *store) newest(owner string) uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last[owner]
}

func (s *store) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}

func (s *store) Epoch(context.Context) (uint64, error) { return 0, nil }

func (s *store) Events(ctx context.Context, owner string, after uint64, limit int) ([]deliver.Event, error) {
	s.mu.Lock()
	s.reads++
	delay := s.delay
	s.mu.Unlock()
	if delay != nil {
		delay()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return nil, s.err
	}
	var out []deliver.Event
	for _, ev := range s.events[owner] {
		if ev.Seq > after && len(out) < limit {
			out = append(out, ev)
		}
	}
	s.given += len(out)
	return out, ctx.Err()
}

var (
	alpha = deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_a", Owner: "ann", Name: "alpha"}
	beta  = deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_b", Owner: "ann", Name: "beta"}
	gamma = deliver.Source{Kind: deliver.SourceRule, ID: "rul_c", Owner: "ann", Name: "gamma"}
	other = deliver.Source{Kind: deliver.SourceMonitor, ID: "mon_x", Owner: "bob", Name: "other"}
)

func event(src deliver.Source, seq uint64) deliver.Event {
	id := fmt.Sprintf("%s-%d", src.ID, seq)
	at := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	ev := deliver.Event{
		ID: deliver.EventID(src.ID, id), Seq: seq, Source: src, TweetID: id, AuthorUsername: "nasa",
		TweetURL: "https://x.com/nasa/status/" + id, PublishedAt: at, DetectedAt: at.Add(time.Second), Latency: time.Second,
	}
	ev.Body = deliver.AppendBody(nil, &ev, &fetcher.Tweet{ID: id, Text: `said ,"tweet_data":{} and left`, Username: "nasa"})
	return ev
}
