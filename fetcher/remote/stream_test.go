package remote_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

func names(g fetcher.Signal) (list []string) {
	for _, a := range g.Accounts {
		list = append(list, a.Username)
	}
	return list
}

// A Stream tells which of the accounts have a monitor, and brings their posts with all
// that the service knows of them.
func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modern()
		p := newPlatform()
		s := newService(t, p)
		server := serve(t, s)
		s.start()
		defer s.stop()
		s.watch("one", []string{"Ann"})
		s.watch("again", []string{"ann"}) // brings each post twice
		s.watch("other", []string{"bob"})
		if _, err := s.engine.Rules().Create(t.Context(), rule.CreateRequest{Owner: owner, Tag: "cyd", Query: "from:cyd", Interval: 10 * time.Second}); err != nil {
			t.Fatal(err)
		}
		l := listen(t, newStream(t, server.Client(), s.key.Secret), "", "@ANN", "cyd")
		if up := l.next(t); up.Kind != fetcher.SignalUp || up.Resumed || !slices.Equal(names(up), []string{"@ANN"}) || up.Position == "" {
			t.Errorf("first signal %+v", up)
		}
		<-time.After(time.Minute)
		other := p.Post("bob", "of no concern yet")
		p.Post("cyd", "found by a rule alone")
		post := p.Post("ann", "hello", enginetest.ReplyTo(other))
		for range 2 {
			g := l.next(t)
			if g.Kind != fetcher.SignalPost || g.Post.ID != post.ID || !g.Post.PublishedAt.Equal(post.PublishedAt) || g.Post.Permalink != post.Permalink ||
				string(g.Post.AppendJSON(nil)) != string(post.AppendJSON(nil)) || g.At.Before(post.PublishedAt) || g.At.After(time.Now()) {
				t.Errorf("got %+v\n%+v, want\n%+v", g, g.Post, post)
			}
		}

		<-time.After(15 * time.Second) // all are found
		l.changes <- accounts("bob", "cyd")
		if g := l.next(t); g.Kind != fetcher.SignalAccounts || !slices.Equal(names(g), []string{"bob"}) {
			t.Errorf("after a change: %+v", g)
		}
		p.Post("ann", "of no concern any more")
		post = p.Post("bob", "now")
		if g := l.next(t); g.Kind != fetcher.SignalPost || g.Post.ID != post.ID {
			t.Errorf("got %+v, want bob's post", g)
		}

		// Cyd gets a monitor within a minute of being asked for.
		s.watch("late", []string{"cyd"})
		began := time.Now()
		if g := l.next(t); g.Kind != fetcher.SignalAccounts || !slices.Equal(names(g), []string{"bob", "cyd"}) || time.Since(began) > 90*time.Second {
			t.Errorf("after %s: %+v", time.Since(began), g)
		}
		post = p.Post("cyd", "for the monitor and for the rule")
		for range 2 {
			if g := l.next(t); g.Kind != fetcher.SignalPost || g.Post.ID != post.ID {
				t.Errorf("got %+v, want cyd's post", g)
			}
		}
		if err := l.stop(); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v", err)
		}
		if n := len(l.signals); n != 0 {
			if g := <-l.signals; g.Kind != fetcher.SignalHeartbeat {
				t.Errorf("%d signals are left, the first %+v", n, g)
			}
		}
	})
}

// The monitors are read every ten minutes; a change is told with the next sign of life.
func TestMonitorsAreReadAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, newPlatform())
		server := serve(t, s)
		s.start()
		defer s.stop()
		id := s.watch("m", []string{"ann"})
		stream := newStream(t, server.Client(), s.key.Secret)
		l := listen(t, stream, "", "ann", "bob")
		if g := l.next(t); !slices.Equal(names(g), []string{"ann"}) {
			t.Errorf("%+v", g)
		}
		paused, active, bob := monitor.Paused, monitor.Active, []string{"ann", "bob"}
		for _, c := range []struct {
			change monitor.UpdateRequest
			want   []string
		}{
			{monitor.UpdateRequest{Status: &paused}, nil},
			{monitor.UpdateRequest{Status: &active, Usernames: &bob}, bob},
		} {
			if _, err := s.engine.Monitors().Update(t.Context(), owner, id, c.change); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if g := l.next(t); g.Kind != fetcher.SignalAccounts || !slices.Equal(names(g), c.want) || time.Since(began) > 11*time.Minute {
				t.Errorf("after %s: %+v, want %q", time.Since(began), g, c.want)
			}
			if got := stream.Brings(&fetcher.Tweet{Username: "ann"}); got != (c.want != nil) {
				t.Errorf("Brings a post of ann: %t", got)
			}
		}
		// What cannot be read leaves it at what was known.
		if _, err := s.keys.Revoke(t.Context(), owner, s.key.ID); err != nil {
			t.Fatal(err)
		}
		if err := <-l.ended; !errors.Is(err, fetcher.ErrUnauthorized) || !stream.Brings(&fetcher.Tweet{Username: "ann"}) {
			t.Errorf("ended with %v", err)
		}
	})
}

// Accounts that change often cost no more than one list of monitors a minute, and those
// that have a monitor none. What is the same is not told again.
func TestChangesCostLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, newPlatform())
		lists := 0
		server := serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if strings.HasSuffix(r.URL.Path, "/monitors") {
				lists++
			}
			s.ServeHTTP(w, r)
		}))
		s.start()
		defer s.stop()
		s.watch("m", []string{"ann", "bob"})
		l := listen(t, newStream(t, server.Client(), s.key.Secret), "", "ann")
		l.next(t)
		change := func(names ...string) {
			for range 60 {
				l.changes <- accounts(names...)
				<-time.After(2 * time.Second)
			}
			synctest.Wait()
		}
		change("bob", "ann")
		if g := l.next(t); lists != 1 || g.Kind != fetcher.SignalAccounts || len(g.Accounts) != 2 {
			t.Errorf("accounts with monitors: %d lists, %+v", lists, g)
		}
		change("bob", "ann", "cyd")
		if lists < 2 || lists > 3 {
			t.Errorf("an account without a monitor: %d lists in two minutes, want one or two more", lists)
		}
		_ = l.stop()
		for len(l.signals) > 0 {
			if g := <-l.signals; g.Kind != fetcher.SignalHeartbeat {
				t.Errorf("told again: %+v", g)
			}
		}
	})
}

// A Stream shows that it is alive, and answers the service's pings.
func TestHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, newPlatform())
		server := serve(t, s)
		s.start()
		defer s.stop()
		l := listen(t, newStream(t, server.Client(), s.key.Secret), "")
		up := <-l.signals
		told := 0                                                      // with the service's clock, by frames
		for began := time.Now(); time.Since(began) < 15*time.Minute; { // the monitors are read once, too
			last := time.Now()
			g := <-l.signals
			if g.Kind != fetcher.SignalHeartbeat || g.Position != up.Position || time.Since(last) > 30*time.Second {
				t.Fatalf("%+v after %s", g, time.Since(last))
			}
			if !g.At.IsZero() {
				told++
				if ago := time.Since(g.At); ago < 0 || ago > time.Second {
					t.Errorf("sent %s ago", ago)
				}
			}
		}
		if told < 28 || told > 30 {
			t.Errorf("%d pings in 15 minutes", told)
		}
		_ = l.stop()
	})
}

// What Brings says is what the service sends, for every set of filter_types and every
// kind of post.
func TestBringsWhatTheServiceSends(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modern()
		p := newPlatform()
		s := newService(t, p)
		server := serve(t, s)
		s.start()
		defer s.stop()
		types := []monitor.FilterType{monitor.Original, monitor.Reply, monitor.Retweet, monitor.Quote}
		other := p.Post("cyd", "a post of another")
		var id string
		for set := range 1 << len(types) {
			var chosen []monitor.FilterType
			for i, ft := range types {
				if set>>i&1 == 1 {
					chosen = append(chosen, ft)
				}
			}
			if id != "" {
				if err := s.engine.Monitors().Delete(t.Context(), owner, id); err != nil {
					t.Fatal(err)
				}
			}
			id = s.watch(fmt.Sprint("m", set), []string{"ann"}, chosen...)
			stream := newStream(t, server.Client(), s.key.Secret)
			l := listen(t, stream, "", "ann")
			l.next(t)
			<-time.After(15 * time.Second)
			want := map[string]bool{}
			for _, options := range [][]enginetest.PostOption{nil, {enginetest.ReplyTo(other)}, {enginetest.Retweeting(other)}, {enginetest.Quoting(other)},
				{enginetest.ReplyTo(other), enginetest.Quoting(other)}, {enginetest.Retweeting(other), enginetest.Quoting(other)}} {
				if post := p.Post("ann", "x", options...); stream.Brings(&post) {
					want[post.ID] = true
				}
			}
			<-time.After(15 * time.Second)
			_ = l.stop()
			close(l.signals)
			got := map[string]bool{}
			for g := range l.signals {
				if g.Kind == fetcher.SignalPost {
					got[g.Post.ID] = true
				}
			}
			if !maps.Equal(got, want) {
				t.Errorf("monitor of %q: %d posts came, Brings expects %d", chosen, len(got), len(want))
			}
		}
	})
}

// Brings goes by the filter_types of the account's monitors, whoever's they are.
func TestBrings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newService(t, newPlatform())
		server := serve(t, s)
		s.start()
		defer s.stop()
		s.watch("all", []string{"ann"})
		s.watch("less of the same", []string{"ann"}, monitor.Quote)
		s.watch("some", []string{"Bob", "did:plc:bob"}, monitor.Original)
		s.watch("others", []string{"bob"}, monitor.Reply)
		for i := range 150 { // more than a page
			s.watch(fmt.Sprint("page ", i), []string{fmt.Sprint("user", i)})
		}
		stream := newStream(t, server.Client(), s.key.Secret)
		if stream.Brings(&fetcher.Tweet{Username: "ann"}) {
			t.Error("it brings posts before it knows of a monitor")
		}
		l := listen(t, stream, "", "user0", "user149", "user150")
		if up := l.next(t); !slices.Equal(names(up), []string{"user0", "user149"}) {
			t.Errorf("%+v", up)
		}
		_ = l.stop()
		for _, c := range []struct {
			post fetcher.Tweet
			want bool
		}{
			{fetcher.Tweet{Username: "ANN"}, true},
			{fetcher.Tweet{Username: "ann", IsRetweet: true}, true},
			{fetcher.Tweet{Username: "bob"}, true},
			{fetcher.Tweet{Username: "bob", InReplyToStatusID: "1"}, true},
			{fetcher.Tweet{Username: "bob", IsRetweet: true}, false},
			{fetcher.Tweet{Username: "bob", IsQuoteStatus: true}, false},
			{fetcher.Tweet{Username: "bob.example", UserID: "did:plc:bob"}, true},
			{fetcher.Tweet{Username: "bob.example", UserID: "did:plc:bob", InReplyToStatusID: "1"}, false},
			{fetcher.Tweet{Username: "cyd"}, false},
			{fetcher.Tweet{}, false},
		} {
			if got := stream.Brings(&c.post); got != c.want {
				t.Errorf("%+v: %t", c.post, got)
			}
		}
	})
}
