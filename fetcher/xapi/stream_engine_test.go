package xapi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
	"github.com/streamwatch/streamwatch/internal/testsize"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// streamed is an engine with streams on a fake server.
type streamed struct {
	*fake
	t       *testing.T
	e       *streamwatch.Engine
	handles []string
	posted  map[string]time.Time // posts that are to be handled

	mu  sync.Mutex
	got map[string][]time.Time // when a post was handled
}

// stream starts an engine with an account for each of 20 handles, which nobody watches.
func stream(t *testing.T, roles func(f *fake, x *xapi.Fetcher) fetcher.Roles) *streamed {
	s := &streamed{fake: newFake(t, xapitest.Config{}), t: t, posted: map[string]time.Time{}, got: map[string][]time.Time{}}
	for i := range 20 {
		s.handles = append(s.handles, fmt.Sprint("user", i))
	}
	s.add(s.handles...)
	x, err := xapi.New(xapi.Config{BaseURL: "http://api.example.com", Token: "token", HTTP: s.net.Client()})
	if err != nil {
		t.Fatal(err)
	}
	s.e, err = streamwatch.New(streamwatch.Config{
		Fetcher: x, Roles: roles(s.fake, x), Store: memory.New(memory.Options{}), Detect: detect.Config{AuditEvery: streamAudit, Cost: detect.Cost{Prices: xapi.Prices()}},
		OnEvent: func(_ context.Context, e deliver.Event) error {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.got[e.TweetID] = append(s.got[e.TweetID], time.Now())
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.e.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	streamAudit = 30 * time.Minute
	streamDelay = 100 * time.Millisecond
)

// suffer has accounts post until so many connections have broken off. It skips a post
// whose text is "".
func (s *streamed) suffer(disconnects int, text func(*rand.Rand) string) {
	s.Streams.SetFaults(xapitest.StreamFaults{Delay: streamDelay, Disorder: 200 * time.Millisecond, Duplicate: 0.05,
		DisconnectAfter: 90 * time.Second, Torn: 0.3, Announced: 0.3, GhostFor: time.Minute, Seed: 3})
	s.Streams.Cut()
	rng := rand.New(rand.NewPCG(1, 2))
	for s.Streams.Stats().Disconnects < disconnects {
		<-time.After(time.Duration(rng.ExpFloat64() * float64(10*time.Second)))
		s.posted[s.Post(s.handles[rng.IntN(len(s.handles))], text(rng))] = time.Now()
	}
	s.Streams.SetFaults(xapitest.StreamFaults{})
	<-time.After(2 * streamAudit)
}

// check wants each post to be handled once, and half of them 250 ms after the stream's
// delay; and what the engine says that it costs to be what X charges, less what was on
// its way when a connection broke off.
func (s *streamed) check(disconnects int, stats func(detect.Stats) detect.StreamStats) {
	counted := s.e.Stats().Detect
	if err := s.e.Shutdown(s.t.Context()); err != nil {
		s.t.Error(err)
	}
	lost, doubled := 0, 0
	var took []time.Duration
	for id, at := range s.posted {
		switch got := s.got[id]; {
		case len(got) == 0:
			lost++
		case len(got) > 1:
			doubled++
			fallthrough
		default:
			took = append(took, got[0].Sub(at))
		}
	}
	if lost+doubled > 0 || len(s.got) != len(s.posted) {
		s.t.Errorf("of %d posts %d were lost and %d doubled; %d handled", len(s.posted), lost, doubled, len(s.got))
	}
	slices.Sort(took)
	p50, p99, longest := took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	if p50 > streamDelay+250*time.Millisecond {
		s.t.Errorf("half of the posts were found within %s: want %s", p50, streamDelay+250*time.Millisecond)
	}
	st, brought := s.Streams.Stats(), stats(counted)
	for what, n := range map[string]int{"torn": st.Torn, "announced": st.Announced, "ghosts": st.Ghosts, "refused": st.Refused, "duplicated": st.Duplicated} {
		if n < disconnects/100 {
			s.t.Errorf("too quiet: %d %s", n, what)
		}
	}
	if brought.Misses > 0 || brought.Posts < int64(len(s.posted))/2 {
		s.t.Errorf("%d posts were brought and %d missed", brought.Posts, brought.Misses)
	}
	price, charged := counted.Cost.Total, xapi.Prices().Cost(s.Billed())
	if price > charged+1e-6 || price < charged*0.98 {
		s.t.Errorf("the engine counts $%.2f, X charges $%.2f", price, charged)
	}
	s.t.Logf("%d posts found after %s (p50), %s (p99), %s at most, for $%.2f; %+v; %+v; %+v", len(s.posted), p50, p99, longest, charged, st, brought, s.Billed())
}

func streamDisconnects() int { return testsize.Of(40, 100, 1000) }

// Every post is handled once, half of them 250 ms after X has sent them, through
// connections that break off, that X still counts, and that bring posts twice and in
// disorder.
func TestActivityInAnEngine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := stream(t, func(f *fake, _ *xapi.Fetcher) fetcher.Roles {
			return fetcher.Roles{Stream: f.activity(t, xapi.ActivityConfig{})}
		})
		if _, err := s.e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: s.handles, PollInterval: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		<-time.After(11 * time.Minute) // every account is polled
		s.suffer(streamDisconnects(), func(*rand.Rand) string { return "a post" })
		s.check(streamDisconnects(), func(st detect.Stats) detect.StreamStats { return st.Stream })
	})
}

// The same of posts that match rules.
func TestFilteredStreamInAnEngine(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := stream(t, func(f *fake, x *xapi.Fetcher) fetcher.Roles {
			return fetcher.Roles{Search: x, SearchStream: f.filtered(t, xapi.FilteredStreamConfig{Fetcher: x})}
		})
		words := []string{"cat", "cow", "ant", "owl"}
		for _, w := range words {
			if _, err := s.e.Rules().Create(t.Context(), rule.CreateRequest{Tag: w, Query: w, Interval: 5 * time.Minute, MaxResults: 100}); err != nil {
				t.Fatal(err)
			}
		}
		<-time.After(11 * time.Minute)
		s.suffer(streamDisconnects(), func(rng *rand.Rand) string { return "of a " + words[rng.IntN(len(words))] })
		s.check(streamDisconnects(), func(st detect.Stats) detect.StreamStats { return st.SearchStream })
	})
}
