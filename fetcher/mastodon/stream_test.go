package mastodon

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/internal/sockettest"
)

// streamServer is a Mastodon that streams a home timeline.
type streamServer struct {
	*sockettest.Server
	*sockettest.Feed
	instance string

	mu      sync.Mutex
	follows []string // pages
	read    int      // how often the first page was read
}

func newStreamServer(t testing.TB) *streamServer {
	s := &streamServer{
		instance: `{"configuration":{"urls":{"streaming":"wss://stream.example.com"}}}`,
		follows:  []string{`[{"id":"7","acct":"ann"},{"id":"10","acct":"erna"},{"id":"11"}]`, `[{"id":"8","acct":"Bob@other.example.com"}]`},
		Feed:     sockettest.NewFeed(websocket.MessageText),
	}
	s.Server = sockettest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.Close)
	return s
}

func (s *streamServer) serve(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer t0k" {
		http.Error(w, `{"error":"t0k is not valid"}`, http.StatusUnauthorized)
		return
	}
	switch r.URL.Path {
	case "/api/v2/instance":
		fmt.Fprint(w, s.instance)
	case "/api/v1/accounts/verify_credentials":
		fmt.Fprint(w, `{"id":"1","acct":"watcher"}`)
	case "/api/v1/accounts/1/following":
		s.mu.Lock()
		defer s.mu.Unlock()
		page := 0
		if r.URL.Query().Get("max_id") == "99" {
			page = 1
		} else {
			s.read++
			w.Header().Set("Link", `<https://x/?max_id=99>; rel="next"`)
		}
		fmt.Fprint(w, s.follows[page])
	case "/api/v1/streaming":
		s.Serve(w, r, s.Len())
	default:
		http.NotFound(w, r)
	}
}

func event(name, payload string) string {
	b, _ := json.Marshal(map[string]any{"stream": []string{"user"}, "event": name, "payload": payload})
	return string(b)
}

func TestStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newStreamServer(t)
		s, err := NewStream(StreamConfig{BaseURL: "http://mastodon.example.com", StreamingURL: "ws://stream.example.com/", Token: "t0k", HTTP: srv.Client()})
		if err != nil {
			t.Fatal(err)
		}
		signals, ended := make(chan fetcher.Signal, 999), make(chan error, 1)
		changes := make(chan []fetcher.Account)
		ctx, cancel := context.WithCancel(t.Context())
		q := fetcher.StreamQuery{Changes: changes, Accounts: []fetcher.Account{{Username: "x", UserID: "7"}, {Username: "bob@OTHER.example.com"}, {Username: "carl"}, {Username: "dora", UserID: "9"}}}
		go func() { ended <- s.Stream(ctx, q, func(g fetcher.Signal) error { signals <- g; return nil }) }()

		if r := <-srv.Opened; r.Host != "stream.example.com" || r.URL.Query().Get("stream") != "user" || strings.Contains(r.URL.RawQuery, "t0k") {
			t.Errorf("asked %s for %s", r.Host, r.URL)
		}
		if up := <-signals; up.Kind != fetcher.SignalUp || up.Resumed || len(up.Accounts) != 2 || up.Accounts[0].UserID != "7" || up.Accounts[1].Username != "bob@OTHER.example.com" {
			t.Errorf("first signal %+v", up)
		}
		post, other := minimal("100", 0, `, "account": {"id": "7"}`), minimal("101", 0, `, "account": {"id": "6", "acct": "carl"}`)
		for _, c := range []struct {
			name, frame string
			want        fetcher.SignalKind
			check       func(g fetcher.Signal) bool
		}{
			{"a post", event("update", post), fetcher.SignalPost, func(g fetcher.Signal) bool { return g.Post.ID == "100" && !g.Post.PublishedAt.IsZero() }},
			{"a post after white space", event("update", " "+post), fetcher.SignalPost, func(g fetcher.Signal) bool { return g.Post.ID == "100" }},
			{"an edit", event("status.update", post), fetcher.SignalEdit, func(g fetcher.Signal) bool { return g.Post.ID == "100" }},
			{"a deletion", event("delete", "100"), fetcher.SignalDelete, func(g fetcher.Signal) bool { return g.ID == "100" }},
			{"a post of an account that is not wanted", event("update", other), fetcher.SignalHeartbeat, nil},
			{"an edit of it", event("status.update", other), fetcher.SignalHeartbeat, nil},
			{"a post for followers", event("update", minimal("102", 0, `, "account": {"id": "7"}, "visibility": "private"`)), fetcher.SignalHeartbeat, nil},
			{"an edit of it", event("status.update", minimal("102", 0, `, "account": {"id": "7"}, "visibility": "private"`)), fetcher.SignalHeartbeat, nil},
			{"another event", `{"event":"filters_changed"}`, fetcher.SignalHeartbeat, nil},
			{"a notification", event("notification", `{"id":"1"}`), fetcher.SignalHeartbeat, nil},
			{"a post that is none", event("update", `[1]`), fetcher.SignalGap, nil},
			{"a broken post", event("update", `{"id":`), fetcher.SignalGap, nil},
			{"no JSON", "<html>", fetcher.SignalGap, nil},
		} {
			srv.Push(c.frame)
			if g := <-signals; g.Kind != c.want || c.check != nil && !c.check(g) {
				t.Errorf("%s: %+v, want kind %d", c.name, g, c.want)
			}
		}
		changes <- []fetcher.Account{{Username: "ann"}}
		synctest.Wait()
		srv.Push(event("delete", "5"))
		if g := <-signals; g.Kind != fetcher.SignalAccounts || len(g.Accounts) != 1 || g.Accounts[0].Username != "ann" {
			t.Errorf("after a change %+v", g)
		}
		// The follows are read again each hour.
		srv.mu.Lock()
		srv.follows[0] = `[]`
		srv.mu.Unlock()
		<-time.After(followsEvery + time.Minute)
		found := false
		for len(signals) > 0 {
			g := <-signals
			found = found || g.Kind == fetcher.SignalAccounts && len(g.Accounts) == 0
		}
		srv.mu.Lock()
		read := srv.read
		srv.mu.Unlock()
		if !found || read != 2 {
			t.Errorf("the follows were read %d times, want 2; the change was emitted: %t", read, found)
		}
		srv.Push(`{"error":"Access token t0k was revoked","status":401}`)
		var status *fetcher.StatusError
		if err := <-ended; !errors.As(err, &status) || status.Code != 401 || status.Detail != "Access token *** was revoked" {
			t.Errorf("ended with %v", err)
		}
		cancel()
	})
}

func TestStreamAddress(t *testing.T) {
	for instance, want := range map[string]string{
		`{"configuration":{"urls":{"streaming":"ws://stream.example.com"}}}`: "stream.example.com",
		`{}`: "mastodon.example.com",
		`x`:  "mastodon.example.com",
		`{"configuration":{"urls":{"streaming":"https://elsewhere.example"}}}`: "mastodon.example.com",
	} {
		synctest.Test(t, func(t *testing.T) {
			for _, base := range []string{"http://mastodon.example.com", "HTTP://mastodon.example.com/"} {
				srv := newStreamServer(t)
				srv.instance = instance
				s, err := NewStream(StreamConfig{BaseURL: base, Token: "t0k", HTTP: srv.Client()})
				if err != nil {
					t.Fatal(err)
				}
				enough := errors.New("enough")
				if err := s.Stream(t.Context(), fetcher.StreamQuery{}, func(fetcher.Signal) error { return enough }); !errors.Is(err, enough) {
					t.Fatalf("%s, %s: %v", base, instance, err)
				}
				if r := <-srv.Opened; r.Host != want || r.URL.Path != "/api/v1/streaming" {
					t.Errorf("%s, %s: streams from %s%s, want %s", base, instance, r.Host, r.URL.Path, want)
				}
			}
		})
	}
}

func TestStreamRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newStreamServer(t)
		s, err := NewStream(StreamConfig{BaseURL: "http://mastodon.example.com", Token: "t0k2", HTTP: srv.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Stream(t.Context(), fetcher.StreamQuery{}, nil); !errors.Is(err, fetcher.ErrUnauthorized) || strings.Contains(err.Error(), "t0k2") {
			t.Errorf("%v, want ErrUnauthorized", err)
		}
	})
	stream, err := NewStream(StreamConfig{BaseURL: "https://h", Token: "t0k"})
	if s := fmt.Sprintf("%+v %+v", StreamConfig{Token: "t0k"}, stream); err != nil || strings.Contains(s, "t0k") {
		t.Error(s, err)
	}
	for want, cfg := range map[string]StreamConfig{
		"Token":                       {BaseURL: "https://h"},
		"BaseURL":                     {Token: "t"},
		`StreamingURL "https://h"`:    {BaseURL: "https://h", Token: "t", StreamingURL: "https://h"},
		`StreamConfig.Visibility "x"`: {BaseURL: "https://h", Token: "t", Visibility: "x"},
		"Timeout":                     {BaseURL: "https://h", Token: "t", HTTP: &http.Client{Timeout: 1}},
	} {
		if _, err := NewStream(cfg); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want one that names %s", err, want)
		}
	}
}

func TestStreamBrings(t *testing.T) {
	s, err := NewStream(StreamConfig{BaseURL: "https://h", Token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		post fetcher.Tweet
		want bool
	}{
		{fetcher.Tweet{UserID: "1"}, true},
		{fetcher.Tweet{UserID: "1", InReplyToUserID: "1"}, true},
		{fetcher.Tweet{UserID: "1", InReplyToUserID: "2"}, false},
		{fetcher.Tweet{UserID: "1", IsRetweet: true}, false},
		{fetcher.Tweet{UserID: "1", Visibility: "unlisted"}, true},
		{fetcher.Tweet{UserID: "1", Visibility: "private"}, false},
	} {
		if got := s.Brings(&c.post); got != c.want {
			t.Errorf("%+v: %t", c.post, got)
		}
	}
}
