package xapi_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// inbox remembers when a post was handled, by id.
type inbox struct {
	mu  sync.Mutex
	got map[string][]time.Time
}

func (in *inbox) handle(_ context.Context, e deliver.Event) error {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.got[e.TweetID] = append(in.got[e.TweetID], time.Now())
	return nil
}

// Every post is handled once, half of them 250 ms after X has sent them, through
// connections that break off, that X still counts, and that bring posts twice and in
// disorder.
func TestActivityInAnEngine(t *testing.T) {
	disconnects := 1000
	if testing.Short() || raceDetector {
		disconnects = 100
	}
	synctest.Test(t, func(t *testing.T) {
		const delay, audit = 100 * time.Millisecond, 30 * time.Minute
		f := newFake(t, xapitest.Config{})
		var handles []string
		for i := range 20 {
			handles = append(handles, fmt.Sprint("user", i))
		}
		f.add(handles...)
		x, err := xapi.New(xapi.Config{BaseURL: "http://api.example.com", Token: "token", HTTP: f.net.Client()})
		if err != nil {
			t.Fatal(err)
		}
		in := &inbox{got: map[string][]time.Time{}}
		e, err := streamwatch.New(streamwatch.Config{
			Fetcher: x, Roles: fetcher.Roles{Stream: f.activity(t, xapi.ActivityConfig{})}, Store: memory.New(memory.Options{}), OnEvent: in.handle,
			Detect: detect.Config{AuditEvery: audit},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := e.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: handles, PollInterval: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		<-time.After(11 * time.Minute) // every account is polled
		f.Streams.SetFaults(xapitest.StreamFaults{Delay: delay, Disorder: 200 * time.Millisecond, Duplicate: 0.05,
			DisconnectAfter: 90 * time.Second, Torn: 0.3, Announced: 0.3, GhostFor: time.Minute, Seed: 3})
		f.Streams.Cut()
		rng := rand.New(rand.NewPCG(1, 2))
		posted := map[string]time.Time{}
		for f.Streams.Stats().Disconnects < disconnects {
			<-time.After(time.Duration(rng.ExpFloat64() * float64(10*time.Second)))
			posted[f.Post(handles[rng.IntN(len(handles))], "a post")] = time.Now()
		}
		f.Streams.SetFaults(xapitest.StreamFaults{})
		<-time.After(2 * audit)
		stats := e.Stats().Detect.Stream
		if err := e.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		lost, doubled := 0, 0
		var took []time.Duration
		for id, at := range posted {
			switch got := in.got[id]; {
			case len(got) == 0:
				lost++
			case len(got) > 1:
				doubled++
				fallthrough
			default:
				took = append(took, got[0].Sub(at))
			}
		}
		if lost+doubled > 0 || len(in.got) != len(posted) {
			t.Errorf("of %d posts %d were lost and %d doubled; %d handled", len(posted), lost, doubled, len(in.got))
		}
		slices.Sort(took)
		p50, p99, longest := took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
		if p50 > delay+250*time.Millisecond {
			t.Errorf("half of the posts were found within %s: want %s", p50, delay+250*time.Millisecond)
		}
		st := f.Streams.Stats()
		for what, n := range map[string]int{"torn": st.Torn, "announced": st.Announced, "ghosts": st.Ghosts, "refused": st.Refused, "duplicated": st.Duplicated} {
			if n < disconnects/100 {
				t.Errorf("too quiet: %d %s", n, what)
			}
		}
		t.Logf("%d posts found after %s (p50), %s (p99), %s at most; %+v; %+v", len(posted), p50, p99, longest, st, stats)
	})
}
