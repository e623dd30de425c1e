package xapi_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// What each event is.
func TestActivityEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		all := f.add("ann", "bob", "cyd")
		f.Streams.Subscribe("post.create", all[2].UserID, "another")
		l := listen(t, f.activity(t, xapi.ActivityConfig{}), fetcher.StreamQuery{Accounts: all[:2]})
		l.next()
		post := func(text string) *fetcher.Tweet {
			t.Helper()
			g := l.next()
			if g.Kind != fetcher.SignalPost || g.Post == nil || g.Post.Text != text || g.Billed != (fetcher.Billed{Events: 1}) || g.Position != "" {
				t.Fatalf("%+v, want the post %q, for one event", g, text)
			}
			return g.Post
		}
		id := f.Post("ann", "hello")
		if p := post("hello"); p.ID != id || p.UserID != all[0].UserID || p.Username != "ann" || !p.PublishedAt.Equal(time.Now()) {
			t.Errorf("%+v, want ann's post of now", p)
		}
		f.Reply("bob", id, "an answer")
		if p := post("an answer"); p.InReplyToStatusID != id || p.InReplyToUserID != all[0].UserID {
			t.Errorf("an answer to %q", p.InReplyToStatusID)
		}
		f.Quote("bob", id, "look")
		if p := post("look"); p.QuotedStatusID != id {
			t.Errorf("it quotes %q", p.QuotedStatusID)
		}
		f.Repost("bob", id)
		if p := post("RT @ann: hello"); !p.IsRetweet || p.RetweetedStatusID != id {
			t.Errorf("%+v, want a repost", p)
		}
		edited := f.Edit(id, "hallo")
		if p := post("hallo"); p.ID != edited || !slices.Equal(p.EditTweetIDs, []string{id, edited}) {
			t.Errorf("an edit with the id %q of %q", p.ID, p.EditTweetIDs)
		}
		f.Delete(edited)
		if g := l.next(); g.Kind != fetcher.SignalDelete || g.ID != edited || g.Billed.Events != 1 {
			t.Errorf("%+v, want the deletion", g)
		}
		f.Post("cyd", "for another program")
		if beat := <-l.signals; beat.Kind != fetcher.SignalHeartbeat || beat.Billed.Events != 1 {
			t.Errorf("%+v, want a heartbeat that is billed with what is another program's", beat)
		}
		l.stop()
		if b := f.Billed(); b.Events != 7 {
			t.Errorf("X has charged for %+v, want 7 events", b)
		}
	})
}

// A line that cannot be read is a gap, and the stream goes on.
func TestActivityLines(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		all := f.add("ann")
		l := listen(t, f.activity(t, xapi.ActivityConfig{}), fetcher.StreamQuery{Accounts: all})
		l.next()
		for line, want := range map[string]fetcher.SignalKind{
			"":          fetcher.SignalHeartbeat,
			"<html>":    fetcher.SignalGap,
			`{"data":{`: fetcher.SignalGap,
			`{}`:        fetcher.SignalGap,
			`[]`:        fetcher.SignalGap,
			`{"data":{"event_uuid":"-7","event_type":"post.create","filter":{"user_id":"` + all[0].UserID + `"},"payload":{"id":true}}}`: fetcher.SignalGap,
			`{"data":{"event_uuid":"8","event_type":"like.create","filter":{"user_id":"` + all[0].UserID + `"}}}`:                        fetcher.SignalHeartbeat,
			`{"data":5}`: fetcher.SignalGap,
		} {
			f.Streams.SendLine(line)
			f.Post("ann", "after it")
			g := l.next()
			if gap := g.Kind == fetcher.SignalGap; gap != (want == fetcher.SignalGap) {
				t.Errorf("the line %q is %+v, want the kind %d", line, g, want)
			} else if gap {
				g = l.next()
			}
			if g.Kind != fetcher.SignalPost {
				t.Errorf("after the line %q comes %+v, want a post", line, g)
			}
		}
		l.stop()
	})
}

// A stream that says why it ends, ends so; one that falls silent is given up.
func TestActivityEnds(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(f *fake)
		want  string
		limit time.Duration // of a RateLimitError
	}{
		"disconnected by X": {do: func(f *fake) {
			f.Streams.SendLine(`{"errors":[{"title":"operational-disconnect","disconnect_type":"UpstreamOperationalDisconnect","detail":"Gone for\noperational reasons.","type":"https://api.twitter.com/2/problems/operational-disconnect"}]}`)
		}, want: "the stream was ended by X: operational-disconnect: UpstreamOperationalDisconnect: Gone for operational reasons."},
		"the cap on posts": {do: func(f *fake) {
			f.Streams.SendLine(`{"errors":[{"title":"UsageCapExceeded","period":"Monthly","type":"https://api.twitter.com/2/problems/usage-capped"}]}`)
		}, want: "the cap on posts is reached (Monthly)", limit: time.Hour},
		"cut off": {do: func(f *fake) { f.net.Cut() }, want: "broke off"},
		"silent":  {do: func(f *fake) { f.net.Freeze() }, want: "no line has come in time"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, xapitest.Config{})
				l := listen(t, f.activity(t, xapi.ActivityConfig{}), fetcher.StreamQuery{Accounts: f.add("ann")})
				l.next()
				began := time.Now()
				c.do(f)
				err := l.over()
				if err == nil || !strings.Contains(err.Error(), c.want) || time.Since(began) > time.Minute {
					t.Errorf("ended with %v after %s, want %q", err, time.Since(began), c.want)
				}
				var limit *fetcher.RateLimitError
				if errors.As(err, &limit) != (c.limit > 0) || limit != nil && limit.RetryAfter != c.limit {
					t.Errorf("%#v, want a wait of %s", err, c.limit)
				}
			})
		})
	}
}

// keptConnections counts how often those are closed that are of no use.
type keptConnections struct {
	http.RoundTripper
	closed atomic.Int64
}

func (k *keptConnections) CloseIdleConnections() { k.closed.Add(1) }

// A connection that has fallen silent is not used for the next stream.
func TestActivityLeavesADeadConnection(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		kept := &keptConnections{RoundTripper: f.net.Client().Transport}
		a, err := xapi.NewActivity(xapi.ActivityConfig{BaseURL: "http://api.example.com", Token: "token", HTTP: &http.Client{Transport: kept}})
		if err != nil {
			t.Fatal(err)
		}
		l := listen(t, a, fetcher.StreamQuery{Accounts: f.add("ann")})
		l.next()
		if n := kept.closed.Load(); n != 0 {
			t.Errorf("connections were closed %d times while one is in use", n)
		}
		f.net.Freeze()
		if err := l.over(); err == nil || kept.closed.Load() != 1 {
			t.Errorf("after %v connections were closed %d times, want once", err, kept.closed.Load())
		}
	})
}

// How long X is left alone at least after an answer that is an error, and what it is.
func TestActivityIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   error  // or
		reason string // of a RateLimitError
		wait   time.Duration
	}{
		"overloaded":           {503, `{"title":"Service Unavailable","type":"about:blank"}`, nil, "", 5 * time.Second},
		"a rate limit":         {429, `{"title":"Too Many Requests","type":"about:blank"}`, nil, "rate limited", time.Minute},
		"too many connections": {429, `{"title":"ConnectionException","connection_issue":"TooManyConnections","type":"https://api.twitter.com/2/problems/streaming-connection"}`, nil, "too many connections", time.Minute},
		"the cap on posts":     {429, `{"title":"UsageCapExceeded","period":"Monthly","type":"https://api.twitter.com/2/problems/usage-capped"}`, nil, "the cap on posts", time.Hour},
		"no credits":           {402, `{"title":"CreditsDepleted","type":"about:blank"}`, nil, "credits", 15 * time.Minute},
		"a bad token":          {401, `{"title":"Unauthorized","type":"about:blank"}`, fetcher.ErrUnauthorized, "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t, xapitest.Config{})
				q := fetcher.StreamQuery{Accounts: f.add("ann")}
				a := f.activity(t, xapi.ActivityConfig{})
				for _, path := range []string{"/2/activity/stream", "/2/activity/subscriptions"} {
					f.answers(func(r *http.Request) (int, string) {
						if r.URL.Path == path {
							return c.status, c.body
						}
						return 0, ""
					})
					err := a.Stream(t.Context(), q, func(fetcher.Signal) error { return nil })
					if c.want != nil && !errors.Is(err, c.want) || c.reason != "" && !strings.Contains(err.Error(), c.reason) || fetcher.RetryAfter(err) != c.wait {
						t.Errorf("%s: %v and a wait of %s, want %v %s and %s", path, err, fetcher.RetryAfter(err), c.want, c.reason, c.wait)
					}
				}
			})
		})
	}
}

func TestActivityBrings(t *testing.T) {
	yes, no := true, false
	var a xapi.Activity
	for _, c := range []struct {
		post fetcher.Tweet
		want bool
	}{
		{fetcher.Tweet{}, true},
		{fetcher.Tweet{IsRetweet: true, InReplyToStatusID: "1", User: &fetcher.User{}}, true},
		{fetcher.Tweet{User: &fetcher.User{Protected: &no}}, true},
		{fetcher.Tweet{User: &fetcher.User{Protected: &yes}}, false},
	} {
		if got := a.Brings(&c.post); got != c.want {
			t.Errorf("%+v: %t", c.post, got)
		}
	}
}

// A call that is ended while X does not answer returns.
func TestActivityEndsWhileConnecting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		f.answers(func(r *http.Request) (int, string) {
			if r.URL.Path == "/2/activity/stream" {
				<-r.Context().Done()
			}
			return 0, ""
		})
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		a := f.activity(t, xapi.ActivityConfig{})
		q := fetcher.StreamQuery{Accounts: f.add("ann")}
		if err := a.Stream(ctx, q, nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v, want the end of the context", err)
		}
		began := time.Now()
		if err := a.Stream(t.Context(), q, nil); err == nil || time.Since(began) > time.Minute || !strings.Contains(err.Error(), "no line has come in time") {
			t.Errorf("%v, want that X does not answer", err)
		}
	})
}
