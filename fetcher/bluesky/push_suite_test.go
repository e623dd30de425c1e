package bluesky

import (
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

const cyd = "did:plc:cyd222222222222222222"

var threeAccounts = []fetcher.Account{{Username: "alice.example.com", UserID: alice}, {Username: "bob.example.com", UserID: bob}, {Username: "cyd.example.com", UserID: cyd}}

func TestProberSuite(t *testing.T) {
	fetchertest.TestProber(t, fetchertest.ProbeKit{Open: func(tb testing.TB) fetchertest.ProbeUpstream {
		var mu sync.Mutex
		counts := map[string]int{alice: 0, bob: 0, cyd: 0}
		p := serve(t, answers{profilesMethod: func(q url.Values) (int, string) {
			mu.Lock()
			defer mu.Unlock()
			var profiles []string
			for did, n := range counts {
				for _, actor := range q["actors"] {
					if actor == did {
						profiles = append(profiles, fmt.Sprintf(`{"did":%q,"handle":"x.example.com","postsCount":%d}`, did, n))
						break
					}
				}
			}
			return 200, `{"profiles":[` + strings.Join(profiles, ",") + `]}`
		}})
		return fetchertest.ProbeUpstream{
			Prober: p.open(t, false), Accounts: threeAccounts, Missing: fetcher.Account{Username: "nobody.example.com"},
			Post: func(a fetcher.Account) {
				mu.Lock()
				defer mu.Unlock()
				counts[a.UserID]++
			},
		}
	}})
}

func TestStreamerSuite(t *testing.T) {
	fetchertest.TestStreamer(t, fetchertest.StreamKit{Bubble: true, Open: func(t testing.TB) fetchertest.StreamUpstream {
		server := newJetstreamServer(t)
		return server.upstream(func(did, operation, key, record string, at time.Time, seq int) string {
			return commit(did, operation, postCollection, key, record, at, seq)
		}, func() { <-time.After(keptFor) })
	}})
}

func TestStreamerSuiteV2(t *testing.T) {
	fetchertest.TestStreamer(t, fetchertest.StreamKit{Bubble: true, Open: func(t testing.TB) fetchertest.StreamUpstream {
		floor := 0
		server := newServerV2(t, func() int { return floor })
		return server.upstream(commitV2, func() { floor = server.Len() + 1 })
	}})
}

// upstream is a Jetstream whose events are written by event, and which forgets them by clamp.
func (server *jetstreamServer) upstream(event func(did, operation, key, record string, at time.Time, seq int) string, clamp func()) fetchertest.StreamUpstream {
	newest, made := map[string]string{}, 0
	send := func(a fetcher.Account, operation, text string) {
		record := ""
		if text != "" {
			record = fmt.Sprintf(`{"$type":"app.bsky.feed.post","text":%q,"createdAt":%q}`, text, time.Now().UTC().Format(time.RFC3339))
		}
		server.Push(event(a.UserID, operation, newest[a.UserID], record, time.Now(), server.Len()+1))
	}
	return fetchertest.StreamUpstream{
		New: func(t testing.TB) fetcher.Streamer {
			j, err := NewJetstream(JetstreamConfig{URL: "ws://jetstream.example.com/subscribe", HTTP: server.Client()})
			if err != nil {
				t.Fatal(err)
			}
			return j
		},
		Accounts: threeAccounts,
		Post: func(a fetcher.Account, text string) {
			made++
			newest[a.UserID] = tidAt(eventTime.Add(time.Duration(made) * time.Second))
			send(a, "create", text)
		},
		Edit:    func(a fetcher.Account, text string) { send(a, "update", text) },
		Delete:  func(a fetcher.Account) { send(a, "delete", "") },
		Break:   server.Cut,
		Resumes: true,
		Clamp:   clamp,
	}
}

// A PDS that has forgotten a part says so by a gap, after SignalUp: there is no Clamp.
func TestReposStreamerSuite(t *testing.T) {
	fetchertest.TestStreamer(t, fetchertest.StreamKit{Bubble: true, Open: func(t testing.TB) fetchertest.StreamUpstream {
		server := newReposServer(t)
		newest, made := map[string]string{}, 0
		send := func(a fetcher.Account, action string, record any) {
			server.Push(string(frame("#commit", commitOf(a.UserID, server.Len()+1, op{action, postCollection + "/" + newest[a.UserID], record}))))
		}
		text := func(words string) any {
			return object{"$type": postCollection, "text": words, "createdAt": time.Now().UTC().Format(time.RFC3339)}
		}
		return fetchertest.StreamUpstream{
			New: func(t testing.TB) fetcher.Streamer {
				p, err := NewRepos(ReposConfig{PDS: "http://pds.example.com", HTTP: server.Client()})
				if err != nil {
					t.Fatal(err)
				}
				return p
			},
			Accounts: threeAccounts,
			Post: func(a fetcher.Account, words string) {
				made++
				newest[a.UserID] = tidAt(eventTime.Add(time.Duration(made) * time.Second))
				send(a, "create", text(words))
			},
			Edit:    func(a fetcher.Account, words string) { send(a, "update", text(words)) },
			Delete:  func(a fetcher.Account) { send(a, "delete", nil) },
			Break:   server.Cut,
			Resumes: true,
		}
	}})
}
