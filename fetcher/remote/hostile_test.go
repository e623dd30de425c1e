package remote_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/coder/websocket"

	"github.com/streamwatch/streamwatch/fetcher"
)

// script is a service that answers every request with one body, and streams frames.
type script struct {
	body     string // of GET requests
	monitors string // of the list of monitors
	frames   []string
	since    string // what was asked for last
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/social/stream/monitors":
		io.WriteString(w, s.monitors)
	case "/v1/social/stream":
		s.since = r.URL.Query().Get("since")
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		var reading sync.WaitGroup
		reading.Go(func() {
			for err := error(nil); err == nil; _, _, err = c.Read(context.Background()) {
			}
		})
		defer reading.Wait()
		defer c.CloseNow()
		for _, f := range s.frames {
			if c.Write(r.Context(), websocket.MessageText, []byte(f)) != nil {
				return
			}
		}
	default:
		io.WriteString(w, s.body)
	}
}

const (
	annsMonitor = `{"monitors":[{"usernames":["ann"]}]}`
	connected   = `{"type":"connected","connection_id":"con_1","api_key_id":"key_1","seq":5}`
)

func tweet(seq any, data string) string {
	return fmt.Sprintf(`{"type":"tweet","seq":%v,"event":"tweet.detected","monitor_id":"m","tweet_published_at":"2026-03-01T12:00:00.250Z","tweet_data":%s,"tweet":%[2]s}`, seq, data)
}

// Whatever a service sends, a Stream uses what it can, reports the rest as a gap, and
// never resumes after something that it has not read.
func TestHostileFrames(t *testing.T) {
	const post = `{"id":"9","text":"x","username":"ann"}`
	for _, c := range []struct {
		name, frame string
		kind        fetcher.SignalKind
		seq         int
	}{
		{"a post", tweet(6, post), fetcher.SignalPost, 6},
		{"a post with fields of other types", tweet(6, `{"id":"9","text":7,"username":"ann","media":{},"favorite_count":"many","user":[]}`), fetcher.SignalPost, 6},
		{"a post with its author beside it", `{"type":"tweet","seq":6,"author_username":"ann","tweet_data":{"id":"9","created_at":"Sun Mar 01 12:00:00 +0000 2026"}}`, fetcher.SignalPost, 6},
		{"a post of an account with another name", tweet(6, `{"id":"9","username":"ann.example","user_id":"7"}`), fetcher.SignalPost, 6},
		{"a large post", tweet(6, `{"id":"9","username":"ann","text":"`+strings.Repeat("x", 3<<20)+`"}`), fetcher.SignalPost, 6},
		{"a post without seq", tweet(`"x"`, post), fetcher.SignalPost, 5},
		{"a post of before", tweet(2, post), fetcher.SignalPost, 5},
		{"a post with a number that is none", tweet(-3, post), fetcher.SignalPost, 5},
		{"a post of another account", tweet(6, `{"id":"9","text":"x","username":"bob"}`), fetcher.SignalHeartbeat, 6},
		{"a post without an id", tweet(6, `{"text":"x","username":"ann"}`), fetcher.SignalGap, 6},
		{"no post", tweet(6, `null`), fetcher.SignalGap, 6},
		{"a list", tweet(6, `[]`), fetcher.SignalGap, 6},
		{"a post without a time", `{"type":"tweet","seq":6,"tweet_data":` + post + `}`, fetcher.SignalGap, 6},
		{"a gap", `{"type":"gap","from_seq":6,"to_seq":8}`, fetcher.SignalGap, 8},
		{"a gap of nothing", `{"type":"gap"}`, fetcher.SignalGap, 5},
		{"a ping", `{"type":"ping","timestamp":"now"}`, fetcher.SignalHeartbeat, 5},
		{"a type of tomorrow", `{"type":"edit","seq":"x"}`, fetcher.SignalHeartbeat, 5},
		{"no type", `{}`, fetcher.SignalGap, 5},
		{"a type that is no text", `{"type":7}`, fetcher.SignalGap, 5},
		{"no JSON", `<html>`, fetcher.SignalGap, 5},
		{"a list of frames", `[{"type":"tweet"}]`, fetcher.SignalGap, 5},
		{"too deep", strings.Repeat(`[`, 100_000), fetcher.SignalGap, 5},
		{"too large", `{"type":"tweet","seq":6,"x":"` + strings.Repeat("x", 17<<20) + `"}`, fetcher.SignalGap, 6},
	} {
		synctest.Test(t, func(t *testing.T) {
			service := &script{monitors: annsMonitor, frames: []string{connected, c.frame}}
			stream := newStream(t, serve(t, service).Client(), "k")
			var got []fetcher.Signal
			err := stream.Stream(t.Context(), fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "ann", UserID: "7"}}}, func(g fetcher.Signal) error { got = append(got, g); return nil })
			if err == nil || len(got) != 2 || got[0].Kind != fetcher.SignalUp || got[1].Kind != c.kind {
				t.Fatalf("%s: %+v, then %v; want kind %d", c.name, got, err, c.kind)
			}
			if c.kind == fetcher.SignalPost && (got[1].Post.ID != "9" || got[1].Post.PublishedAt.IsZero() || got[1].Post.FullText != got[1].Post.Text) {
				t.Errorf("%s: %+v", c.name, got[1].Post)
			}
			_ = stream.Stream(t.Context(), fetcher.StreamQuery{Position: got[1].Position}, func(fetcher.Signal) error { return nil })
			if want := fmt.Sprint(c.seq); service.since != want {
				t.Errorf("%s: resumes after %q, want %s", c.name, service.since, want)
			}
		})
	}
}

func TestHostileBeginnings(t *testing.T) {
	for _, c := range []struct {
		name     string
		monitors string
		first    string
		want     error
		status   int
	}{
		{"a ping first", annsMonitor, `{"type":"ping"}`, fetcher.ErrMalformed, 0},
		{"no JSON", annsMonitor, `hello`, fetcher.ErrMalformed, 0},
		{"a refusal with the key in it", annsMonitor, `{"type":"error","code":4001,"message":"s3cret is not valid"}`, fetcher.ErrUnauthorized, 0},
		{"a long refusal", annsMonitor, `{"type":"error","code":4042,"message":"` + strings.Repeat("no ", 10_000) + `"}`, nil, 4042},
		{"no list of monitors", `{}`, connected, fetcher.ErrMalformed, 0},
		{"a web page", `<html>`, connected, fetcher.ErrMalformed, 0},
		{"monitors that are none", `{"monitors":{}}`, connected, fetcher.ErrMalformed, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			stream := newStream(t, serve(t, &script{monitors: c.monitors, frames: []string{c.first}}).Client(), "s3cret")
			err := stream.Stream(t.Context(), fetcher.StreamQuery{}, func(g fetcher.Signal) error { t.Errorf("%s: %+v", c.name, g); return nil })
			var status *fetcher.StatusError
			if c.want != nil && !errors.Is(err, c.want) || c.status != 0 && (!errors.As(err, &status) || status.Code != c.status) {
				t.Errorf("%s: %v", c.name, err)
			}
			if text := fmt.Sprint(err); strings.Contains(text, "s3cret") || len(text) > 500 {
				t.Errorf("%s: %s", c.name, text)
			}
		})
	}
	// Monitors that are broken do not hide the others.
	synctest.Test(t, func(t *testing.T) {
		stream := newStream(t, serve(t, &script{frames: []string{connected},
			monitors: `{"monitors":[7,null,{"usernames":"bob"},{"usernames":[1,"","@Ann"],"filter_types":"x","status":3},{"usernames":["cyd"],"status":"paused"},{"usernames":["dan"],"filter_types":["poem"]}]}`}).Client(), "k")
		_ = stream.Stream(t.Context(), fetcher.StreamQuery{Accounts: accounts("ann", "bob", "cyd", "dan")}, func(g fetcher.Signal) error {
			if !slices.Equal(names(g), []string{"ann"}) {
				t.Errorf("%+v", g)
			}
			return nil
		})
		for name, want := range map[string]bool{"ann": true, "bob": false, "cyd": false, "dan": false, "": false} {
			if got := stream.Brings(&fetcher.Tweet{Username: name}); got != want {
				t.Errorf("Brings a post of %q: %t", name, got)
			}
		}
	})
}

func TestHostilePages(t *testing.T) {
	for _, c := range []struct {
		name, body string
		posts      int // -1: ErrMalformed
		next       string
	}{
		{"a page", `{"data":[{"id":"1"}],"next_cursor":"n"}`, 1, "n"},
		{"the cursor that was asked for", `{"data":[{"id":"1"}],"next_cursor":"c"}`, 1, ""},
		{"a cursor that is no text", `{"data":[{"id":"1"}],"next_cursor":{}}`, 1, ""},
		{"posts that are none", `{"data":[1,null,"x",[],{"id":7,"text":[]},{"id":"1","text":"x"}]}`, 6, ""},
		{"two lists", `{"data":[{"id":"1"},{"id":"2"}],"data":[{"id":"3"}]}`, 1, ""},
		{"no list", `{"next_cursor":"n"}`, -1, ""},
		{"a null", `{"data":null}`, -1, ""},
		{"an object", `{"data":{"id":"1"}}`, -1, ""},
		{"a list alone", `[{"id":"1"}]`, -1, ""},
		{"nothing", ``, -1, ""},
		{"a web page", `<html>`, -1, ""},
		{"a page cut short", `{"data":[{"id":"1"}`, -1, ""},
		{"too many posts", `{"data":[` + strings.Repeat(`{},`, 1000) + `{}]}`, -1, ""},
		{"too deep", `{"data":[` + strings.Repeat(`[`, 100_000), -1, ""},
	} {
		page, err := newFetcher(t, serve(t, &script{body: c.body}).Client(), "k").Timeline(t.Context(), fetcher.TimelineQuery{Username: "../ann?#", Cursor: "c"})
		if errors.Is(err, fetcher.ErrMalformed) != (c.posts < 0) || c.posts >= 0 && (err != nil || len(page.Tweets) != c.posts || page.Next != c.next) {
			t.Errorf("%s: %d posts, Next %q, %v", c.name, len(page.Tweets), page.Next, err)
		}
	}
}
