package remote_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/remote"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// follow returns a source that reads the service behind a server, by polls alone unless push is set.
func follow(t *testing.T, name string, client *http.Client, of *service, push bool) streamwatch.Source {
	s := streamwatch.Source{Name: name, Fetcher: newFetcher(t, client, of.key.Secret), CheckAccount: remote.CheckAccount}
	if push {
		s.Roles.Stream = newStream(t, client, of.key.Secret)
	}
	return s
}

// Three services in a row, the first of which has two sources, with accounts of the same names and
// ids, and posts of the same ids. Every service names an account, its posts and its frames alike.
func TestChainOfSources(t *testing.T) {
	for _, push := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			modern()
			platforms := map[string]*enginetest.Platform{"m": newPlatform(), "n": newPlatform()}
			near := newService(t, platforms["m"], func(s *service) {
				s.sources = []streamwatch.Source{{Name: "m", Fetcher: platforms["m"]}, {Name: "n", Fetcher: platforms["n"]}}
			})
			near.start()
			defer near.stop()
			near.watch("m", []string{"m:ann", "M:@Bob", "n:ann"})
			middle := newService(t, near.platform, func(s *service) {
				s.sources = []streamwatch.Source{follow(t, "a", serve(t, near).Client(), near, push), {Name: "b", Fetcher: platforms["m"]}}
			})
			middle.start()
			defer middle.stop()
			middle.watch("m", []string{"a:m:ann", "a:m:bob", "A:N:Ann"})

			last := follow(t, "", serve(t, middle).Client(), middle, push)
			var mu sync.Mutex
			got := map[string]int{} // by source of the event, account and id
			far, err := streamwatch.New(streamwatch.Config{Fetcher: last.Fetcher, Roles: last.Roles, CheckAccount: last.CheckAccount, Detect: detect.Config{AuditEvery: time.Hour},
				Sources: []streamwatch.Source{{Name: "own", Fetcher: platforms["n"]}},
				OnEvent: func(_ context.Context, e deliver.Event) error {
					mu.Lock()
					defer mu.Unlock()
					got[e.Source.Name+" "+e.Platform+":"+e.AuthorUsername+" "+e.TweetID]++
					return nil
				}})
			if err != nil {
				t.Fatal(err)
			}
			if err := far.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			names := []string{"a:m:ann", "a:m:bob", "@a:n:ann"}
			if _, err := far.Monitors().Create(t.Context(), monitor.CreateRequest{Name: "m", Usernames: names, PollInterval: 5 * time.Minute}); err != nil {
				t.Fatal(err)
			}
			if _, err := far.Rules().Create(t.Context(), rule.CreateRequest{Tag: "r", Query: "from:a:m:bob", Interval: 5 * time.Minute}); err != nil {
				t.Fatal(err)
			}
			<-time.After(2 * time.Minute)

			want := map[string]int{}
			for i := range 130 {
				for _, of := range []struct{ source, name string }{{"m", "ann"}, {"n", "ann"}, {"m", "bob"}, {"n", "bob"}} {
					post := platforms[of.source].Post(of.name, fmt.Sprint(of.source, " post ", i))
					if full := "a:" + of.source + ":" + of.name; of.source == "m" || of.name == "ann" {
						want["m "+full+" "+post.ID] = 1
						if of.name == "bob" {
							want["r "+full+" "+post.ID] = 1
						}
					}
				}
				<-time.After(20 * time.Second)
			}
			<-time.After(20 * time.Minute)
			st := far.Stats().Detect.Stream
			if err := far.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			missing := 0
			for id := range want {
				if got[id] != 1 {
					missing++
				}
			}
			if missing > 0 || len(got) != len(want) {
				t.Errorf("push %t: %d of %d events did not come once; %d came", push, missing, len(want), len(got))
			}
			if push && (st.Posts != 390 || st.Accounts != 3 || st.Misses != 0 || st.Strangers != 0) {
				t.Errorf("stream %+v, want 390 posts of 3 accounts", st)
			}
		})
	}
}

// What a Fetcher asks for is what its service calls the account. Posts are the account's whatever
// the service calls their author.
func TestTimelineOfSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modern()
		p := newPlatform()
		post := p.Post("ann", "hello")
		entry := fetcher.Tweet{ID: "e", Text: "entry", Username: "example.com", CreatedAt: post.CreatedAt, PublishedAt: post.PublishedAt,
			Entry: &fetcher.Entry{Link: "https://example.com/e"}}
		feeds := &answers{page: fetcher.Page{Tweets: []fetcher.Tweet{entry}}}
		near := newService(t, p, func(s *service) {
			s.sources = []streamwatch.Source{{Name: "m", Fetcher: p}, {Name: "f", Fetcher: feeds, CheckAccount: func(name string) error {
				if name != "https://example.com/feed?a=1" {
					return errors.New("that feed")
				}
				return nil
			}}}
		})
		alone := newService(t, p, func(s *service) { s.sources = []streamwatch.Source{{Name: "m", Fetcher: p}} })
		for _, c := range []struct {
			of             *service
			account        string
			platform, name string // of the post, none if it cannot be read
			status         int
		}{
			{of: near, account: "m:ann", platform: "m", name: "ann"},
			{of: near, account: "M:@Ann", platform: "m", name: "ann"},
			{of: near, account: "f:https://example.com/feed?a=1", platform: "f", name: "example.com"},
			{of: near, account: "f:https://example.com/", status: http.StatusUnprocessableEntity},
			{of: near, account: "ann", status: http.StatusUnprocessableEntity},
			{of: near, account: "x:ann", status: http.StatusUnprocessableEntity},
			{of: alone, account: "ann", name: "ann"},
			{of: alone, account: "m:ann", platform: "m", name: "ann"},
		} {
			page, err := newFetcher(t, serve(t, c.of).Client(), c.of.key.Secret).Timeline(t.Context(), fetcher.TimelineQuery{Username: c.account})
			var status *fetcher.StatusError
			switch {
			case c.status != 0:
				if !errors.Is(err, fetcher.ErrNotFound) || !errors.As(err, &status) || status.Code != c.status {
					t.Errorf("%s: %+v, %v, want status %d", c.account, page, err, c.status)
				}
			case err != nil || len(page.Tweets) != 1:
				t.Errorf("%s: %+v, %v", c.account, page, err)
			case page.Tweets[0].Platform != c.platform || page.Tweets[0].Username != c.name:
				t.Errorf("%s: post of %q %q, want %q %q", c.account, page.Tweets[0].Platform, page.Tweets[0].Username, c.platform, c.name)
			case page.Tweets[0].Entry != nil && page.Tweets[0].Permalink != entry.Entry.Link:
				t.Errorf("%s: address %q, want %q", c.account, page.Tweets[0].Permalink, entry.Entry.Link)
			}
		}
	})
}

// An account is a name in the path of a request, and no other path.
func TestAccountsAreNoPaths(t *testing.T) {
	for name, allowed := range map[string]bool{
		"ann": true, "m:ann": true, "a:m:ann": true, "did:plc:abc": true, "f:https://example.com/../feed": true, "ann@example.com": true, "...": true,
		".": false, "..": false, "m:.": false, "m:..": false, "a:m:..": false, "m:": false, ":ann": false, "a::ann": false,
	} {
		if err := remote.CheckAccount(name); (err == nil) != allowed {
			t.Errorf("%q: %v, want it allowed: %t", name, err, allowed)
		}
		if allowed {
			continue
		}
		var asked []string
		f := newFetcher(t, serve(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { asked = append(asked, r.URL.Path) })).Client(), "key")
		if _, err := f.Timeline(t.Context(), fetcher.TimelineQuery{Username: name}); !errors.Is(err, fetcher.ErrNotFound) || len(asked) > 0 {
			t.Errorf("%q: %v, asked for %q", name, err, asked)
		}
	}
}

// A frame is of the account whose source, name or id it has, and of no other account with that id.
func TestFramesOfSources(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modern()
		platforms := map[string]*enginetest.Platform{"m": newPlatform(), "n": newPlatform()}
		s := newService(t, platforms["m"], func(s *service) {
			s.sources = []streamwatch.Source{{Name: "m", Fetcher: platforms["m"]}, {Name: "n", Fetcher: platforms["n"]}}
		})
		server := serve(t, s)
		s.start()
		defer s.stop()
		s.watch("all", []string{"m:ann", "n:ann", "m:bob"})
		page, err := platforms["m"].Timeline(t.Context(), fetcher.TimelineQuery{Username: "ann"})
		if err != nil {
			t.Fatal(err)
		}
		l := listen(t, newStream(t, server.Client(), s.key.Secret), "")
		l.next(t)
		l.changes <- []fetcher.Account{{Username: "@M:@ann", UserID: page.UserID}, {Username: "n:bob", UserID: page.UserID}, {Username: "ann"}}
		if g := l.next(t); !slices.Equal(names(g), []string{"@M:@ann"}) {
			t.Errorf("%+v", g)
		}
		<-time.After(time.Minute)
		platforms["n"].Post("ann", "of another source")
		platforms["m"].Post("bob", "of another account")
		platforms["m"].Rename("ann", "anna")
		post := platforms["m"].Post("anna", "under a new name")
		if g := l.next(t); g.Kind != fetcher.SignalPost || g.Post.ID != post.ID || g.Post.Platform != "m" || !slices.Equal(names(g), []string{"@M:@ann"}) {
			t.Errorf("%+v %+v", g, g.Post)
		}
		_ = l.stop()
		for len(l.signals) > 0 {
			if g := <-l.signals; g.Kind == fetcher.SignalPost {
				t.Errorf("%+v", g.Post)
			}
		}
		if strings.Contains(page.UserID, ":") {
			t.Error(page.UserID)
		}
	})
}
