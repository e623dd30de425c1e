package remote_test

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// arrived counts the posts that reached the end of a chain.
type arrived struct {
	mu    sync.Mutex
	posts map[string]int
	order []string
}

func (a *arrived) add(id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.posts == nil {
		a.posts = map[string]int{}
	}
	a.posts[id]++
	a.order = append(a.order, id)
}

// wants checks that each post that the platform showed came once.
func (a *arrived) wants(t *testing.T, what string, ids []string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, id := range ids {
		if a.posts[id] != 1 {
			t.Errorf("%s: post %s came %d times, want once", what, id, a.posts[id])
		}
	}
	if len(a.posts) != len(ids) {
		t.Errorf("%s: %d posts came, want %d: %v", what, len(a.posts), len(ids), slices.Sorted(maps.Keys(a.posts)))
	}
}

// consume runs a Stream as a caller does: again after it ended, from where it was. It
// returns how often the service said that it brings everything since then.
func consume(ctx context.Context, s fetcher.Streamer, names []string, got *arrived) (ups, resumed int) {
	position := ""
	for ctx.Err() == nil {
		_ = s.Stream(ctx, fetcher.StreamQuery{Accounts: accounts(names...), Position: position}, func(g fetcher.Signal) error {
			switch g.Kind {
			case fetcher.SignalUp:
				ups++
				if g.Resumed {
					resumed++
				}
			case fetcher.SignalPost:
				got.add(g.Post.ID)
			}
			position = g.Position
			return nil
		})
		select {
		case <-time.After(3 * time.Second):
		case <-ctx.Done():
		}
	}
	return ups, resumed
}

// Two services in a row, the first of which is stopped, killed and started again: what
// the platform shows comes out at the other end once, by polls and by a stream. An edited
// or deleted post does not come a second time.
func TestChain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modern()
		platform := &editing{Platform: newPlatform(), texts: map[string]string{}}
		near := newService(t, platform)
		server := serve(t, near)
		near.start()
		names := []string{"ann", "bob"}
		near.watch("both", names)

		var polled, streamed arrived
		far, err := streamwatch.New(streamwatch.Config{Fetcher: newFetcher(t, server.Client(), near.key.Secret),
			OnEvent: func(_ context.Context, e deliver.Event) error { polled.add(e.TweetID); return nil }})
		if err != nil {
			t.Fatal(err)
		}
		if err := far.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := far.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: names, PollInterval: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var ups, resumed int
		var streaming sync.WaitGroup
		streaming.Go(func() { ups, resumed = consume(ctx, newStream(t, server.Client(), near.key.Secret), names, &streamed) })
		<-time.After(30 * time.Second)

		var owed []string
		post := func(n int) {
			for i := range n {
				tw := platform.Post(names[i%2], fmt.Sprintf("post %d", len(owed)))
				owed = append(owed, tw.ID)
				platform.Post("cyd", "of nobody's concern")
				<-time.After(1300 * time.Millisecond)
			}
		}
		post(10)
		<-time.After(20 * time.Second)
		platform.edit(owed[3], "edited")
		platform.Delete("bob", owed[1])
		post(10)

		near.stop() // a soft end: connections are closed with a word
		server.SetDown(true)
		post(10)
		near.mount()
		near.start()
		server.SetDown(false)
		post(10)
		server.Cut() // a network that breaks
		post(10)
		server.Freeze() // and one that says nothing
		post(10)
		<-time.After(3 * time.Minute)
		platform.edit(owed[len(owed)-1], "edited")
		<-time.After(time.Minute)

		cancel()
		streaming.Wait()
		if err := far.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		near.stop()
		polled.wants(t, "polls", owed)
		streamed.wants(t, "stream", owed)
		for i, name := range names { // each account's in order
			others := func(id string) bool { return slices.Index(owed, id)%2 != i }
			got, want := slices.DeleteFunc(slices.Clone(streamed.order), others), slices.DeleteFunc(slices.Clone(owed), others)
			if !slices.Equal(got, want) {
				t.Errorf("the stream brought of %s\n%v, want\n%v", name, got, want)
			}
		}
		if ups != 4 || resumed != 3 {
			t.Errorf("the stream was up %d times and resumed %d times, want 4 and 3", ups, resumed)
		}
	})
}

// A far engine that takes the stream: posts come as the other service finds them, with
// few requests; the far engine, too, goes on where it was when it is made anew.
func TestChainByStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modern()
		platform := newPlatform()
		near := newService(t, platform)
		var timelines atomic.Int64
		server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/latest_tweets") {
				timelines.Add(1)
			}
			near.ServeHTTP(w, r)
		}))
		near.start()
		defer func() { near.stop() }()
		near.watch("both", []string{"ann", "bob"})

		var got arrived
		var late time.Duration
		store := memory.New(memory.Options{})
		begin := func() *streamwatch.Engine {
			far, err := streamwatch.New(streamwatch.Config{Store: store, Fetcher: newFetcher(t, server.Client(), near.key.Secret),
				Roles: fetcher.Roles{Stream: newStream(t, server.Client(), near.key.Secret)},
				OnEvent: func(_ context.Context, e deliver.Event) error {
					got.add(e.TweetID)
					got.mu.Lock()
					defer got.mu.Unlock()
					late = max(late, e.Latency)
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			if err := far.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			return far
		}
		far := begin()
		if _, err := far.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: []string{"ann", "bob"}, PollInterval: 5 * time.Minute}); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		var owed []string
		post := func(n int) {
			for i := range n {
				owed = append(owed, platform.Post([]string{"ann", "bob"}[i%2], fmt.Sprintf("post %d", len(owed))).ID)
				<-time.After(4 * time.Second)
			}
		}
		post(20)
		<-time.After(15 * time.Second)
		got.mu.Lock()
		if late > 11*time.Second {
			t.Errorf("a post came after %s, want no more than the other service's interval of 10 s", late)
		}
		got.mu.Unlock()
		if n := timelines.Load(); n > 4 {
			t.Errorf("%d timelines were read in %d posts, want a first poll or two of each account", n, len(owed))
		}
		if st := far.Stats().Detect.Stream; !st.Connected || !st.Trusted || st.Accounts != 2 || st.Misses != 0 || st.Posts != 20 {
			t.Errorf("%+v", st)
		}

		near.stop()
		near.mount()
		near.start()
		post(10)
		<-time.After(time.Minute)
		if err := far.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		post(10)
		far = begin()
		<-time.After(time.Minute)
		if st := far.Stats().Detect.Stream; st.Resumes != 1 || st.Posts != 10 {
			t.Errorf("a new engine resumed %d times and got %d posts, want 1 and 10", st.Resumes, st.Posts)
		}
		if err := far.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		got.wants(t, "engine", owed)
	})
}
