package remote_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/fetcher/remote"
)

// The adapter on a real service, over sockets. Posts of an hour ago have ids that tell
// their milliseconds.
func TestFetcher(t *testing.T) {
	fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 8, Open: open})
}

func open(t testing.TB) fetchertest.Upstream {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{PageSize: 8})
	s := newService(t, p)
	var instead atomic.Pointer[http.HandlerFunc]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if h := instead.Load(); h != nil {
			(*h)(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	client := server.Client()
	s.start()
	t.Cleanup(s.stop)
	answer := func(h http.HandlerFunc) { instead.Store(&h) }
	ids := map[string]string{}
	return fetchertest.Upstream{
		New: func(t testing.TB) fetcher.Fetcher {
			f, err := remote.New(remote.Config{BaseURL: server.URL, Key: s.key.Secret, HTTP: client})
			if err != nil {
				t.Fatal(err)
			}
			return f
		},
		Accounts: enginetest.AccountNames(3),
		Post: func(account, text string, at time.Time) {
			ids[account+text] = p.PostAt(account, text, at, time.Time{}).ID
		},
		Delete:  func(account, text string) { p.Delete(account, ids[account+text]) },
		Missing: "nobody",
		Protect: func(account string) { p.SetProtected(account, true) },
		Unauthorized: func() {
			if _, err := s.keys.Revoke(t.Context(), owner, s.key.ID); err != nil {
				t.Fatal(err)
			}
		},
		Limit: func(wait time.Duration) {
			answer(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
				http.Error(w, `{"error":"rate limit exceeded"}`, http.StatusTooManyRequests)
			})
		},
		Garble: func() {
			answer(func(w http.ResponseWriter, _ *http.Request) {
				io.WriteString(w, "<html><body>Just a moment</body></html>")
			})
		},
		Stall: func() { answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }) },
	}
}
