package remote_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/secret"
	"github.com/streamwatch/streamwatch/storage/memory"
)

// A position is good for the service and the key that gave it.
func TestPositions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modern()
		p := newPlatform()
		s := newService(t, p)
		server := serve(t, s)
		s.start()
		defer func() { s.stop() }()
		s.watch("m", []string{"ann"})
		l := listen(t, newStream(t, server.Client(), s.key.Secret), "", "ann")
		l.next(t)
		<-time.After(time.Minute)
		p.Post("ann", "0")
		at := l.next(t).Position
		_ = l.stop()
		for range 3 {
			p.Post("ann", "meanwhile")
			<-time.After(11 * time.Second)
		}
		second := s.issue(apikey.IssueRequest{Owner: owner, Name: "second"})
		stranger := s.issue(apikey.IssueRequest{Owner: "stranger", Name: "other"})
		for _, c := range []struct {
			name    string
			key     secret.Value
			from    string
			resumed bool
			posts   int // of those meanwhile
			gap     bool
		}{
			{"the same", s.key.Secret, at, true, 3, false},
			{"another key of the owner", second.Secret, at, false, 3, false},
			{"another owner", stranger.Secret, at, false, 0, true},
			{"another service", s.key.Secret, strings.Replace(at, "example.com", "example.org", 1), false, 0, false},
			{"none", s.key.Secret, "", false, 0, false},
			{"nonsense", s.key.Secret, "{", false, 0, false},
			{"another platform's", s.key.Secret, `{"host":"jetstream","time_us":5,"seq":1}`, false, 0, false},
			{"of another epoch", s.key.Secret, strings.Replace(at, `"seq":1`, `"seq":1,"epoch":7`, 1), false, 0, true},
			{"beyond all", s.key.Secret, strings.Replace(at, `"seq":1`, `"seq":999`, 1), false, 0, true},
			{"beyond numbers", s.key.Secret, strings.Replace(at, `"seq":1`, `"seq":18446744073709551615`, 1), false, 0, false},
		} {
			l := listen(t, newStream(t, server.Client(), c.key), c.from, "ann")
			up := l.next(t)
			if up.Kind != fetcher.SignalUp || up.Resumed != c.resumed {
				t.Errorf("%s: %+v, want Resumed %t", c.name, up, c.resumed)
			}
			synctest.Wait()
			posts, gap := 0, false
			for len(l.signals) > 0 {
				g := <-l.signals
				posts += map[bool]int{true: 1}[g.Kind == fetcher.SignalPost]
				gap = gap || g.Kind == fetcher.SignalGap
			}
			if posts != c.posts && c.key != stranger.Secret || gap != c.gap {
				t.Errorf("%s: %d posts, gap %t; want %d, %t", c.name, posts, gap, c.posts, c.gap)
			}
			_ = l.stop()
		}

		// A store that lost its end begins anew.
		s.stop()
		s.store = memory.New(memory.Options{})
		s.mount()
		s.start()
		s.watch("m", []string{"ann"})
		l = listen(t, newStream(t, server.Client(), s.key.Secret), at, "ann")
		if up := l.next(t); up.Resumed {
			t.Errorf("resumed in an empty store: %+v", up)
		}
		if g := l.next(t); g.Kind != fetcher.SignalGap {
			t.Errorf("%+v, want a gap", g)
		}
		<-time.After(time.Minute)
		post := p.Post("ann", "after all")
		g := l.next(t)
		if g.Kind != fetcher.SignalPost || g.Post.ID != post.ID {
			t.Errorf("%+v", g)
		}
		_ = l.stop()
		l = listen(t, newStream(t, server.Client(), s.key.Secret), g.Position, "ann")
		if up := l.next(t); !up.Resumed {
			t.Errorf("not resumed at %s: %+v", g.Position, up)
		}
		_ = l.stop()
	})
}

// A service whose store has lost its end gives its numbers twice: the epoch keeps them
// apart.
func TestPositionsHaveAnEpoch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		modern()
		p := newPlatform()
		s := newService(t, p)
		server := serve(t, s)
		s.start()
		defer func() { s.stop() }()
		s.watch("m", []string{"ann"})
		l := listen(t, newStream(t, server.Client(), s.key.Secret), "", "ann")
		l.next(t)
		<-time.After(time.Minute)
		p.Post("ann", "0")
		if g := l.next(t); strings.Contains(g.Position, "epoch") {
			t.Errorf("position %s of a service without an epoch", g.Position)
		}
		for _, epoch := range []uint64{7, 9} {
			s.engine.WebSocket().SetEpoch(epoch)
			g := l.next(t)
			if want := fmt.Sprintf(`"epoch":%d`, epoch); g.Kind != fetcher.SignalGap || !strings.Contains(g.Position, want) {
				t.Errorf("%+v, want a gap and a position with %s", g, want)
			}
			_ = l.stop()
			p.Post("ann", "meanwhile")
			<-time.After(11 * time.Second)
			l = listen(t, newStream(t, server.Client(), s.key.Secret), g.Position, "ann")
			if up := l.next(t); !up.Resumed {
				t.Errorf("not resumed at %s: %+v", g.Position, up)
			}
			if g := l.next(t); g.Kind != fetcher.SignalPost {
				t.Errorf("%+v, want the post", g)
			}
		}
		_ = l.stop()
	})
}
