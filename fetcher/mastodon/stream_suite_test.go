package mastodon

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

func TestStreamerSuite(t *testing.T) {
	fetchertest.TestStreamer(t, fetchertest.StreamKit{Bubble: true, Open: func(t testing.TB) fetchertest.StreamUpstream {
		server := newStreamServer(t)
		server.follows = []string{`[{"id":"7","acct":"ann"},{"id":"8","acct":"bob@other.example.com"}]`, `[{"id":"9","acct":"cyd"}]`}
		newest, made := map[string]int{}, 0
		send := func(name string, a fetcher.Account, text string) {
			server.Push(event(name, fmt.Sprintf(`{"id":"%d","created_at":%q,"content":"<p>%s</p>","account":{"id":%q}}`,
				newest[a.UserID], time.Now().UTC().Format(time.RFC3339), text, a.UserID)))
		}
		return fetchertest.StreamUpstream{
			New: func(t testing.TB) fetcher.Streamer {
				s, err := NewStream(StreamConfig{BaseURL: "http://mastodon.example.com", StreamingURL: "ws://stream.example.com", Token: "t0k", HTTP: server.Client()})
				if err != nil {
					t.Fatal(err)
				}
				return s
			},
			Accounts: []fetcher.Account{{Username: "ann", UserID: "7"}, {Username: "Bob@other.example.com", UserID: "8"}, {Username: "cyd", UserID: "9"}},
			Post: func(a fetcher.Account, text string) {
				made++
				newest[a.UserID] = made
				send("update", a, text)
			},
			Edit:   func(a fetcher.Account, text string) { send("status.update", a, text) },
			Delete: func(a fetcher.Account) { server.Push(event("delete", fmt.Sprint(newest[a.UserID]))) },
			Break:  server.Cut,
		}
	}})
}

// A home timeline has the posts of its user, too. A followed account without a name
// is not taken for another one without a name.
func TestStreamOwnPosts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := newStreamServer(t)
		s, err := NewStream(StreamConfig{BaseURL: "http://mastodon.example.com", StreamingURL: "ws://stream.example.com", Token: "t0k", HTTP: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		enough := errors.New("enough")
		err = s.Stream(t.Context(), fetcher.StreamQuery{Accounts: []fetcher.Account{{Username: "Watcher"}, {UserID: "12"}}}, func(g fetcher.Signal) error {
			switch g.Kind {
			case fetcher.SignalUp:
				if len(g.Accounts) != 1 || g.Accounts[0].Username != "Watcher" {
					t.Errorf("up with %v, want the user alone", g.Accounts)
				}
				server.Push(event("update", minimal("100", 0, `, "account": {"id": "1", "acct": "watcher"}`)))
				return nil
			case fetcher.SignalPost:
				return enough
			}
			return fmt.Errorf("a signal of the kind %d", g.Kind)
		})
		if !errors.Is(err, enough) {
			t.Errorf("%v, want the user's post", err)
		}
	})
}
