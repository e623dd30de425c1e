package mastodon_test

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
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
)

// The adapter on the server of a fake platform, with ETags and without.
func TestFetcher(t *testing.T) {
	for _, tagless := range []bool{false, true} {
		t.Run("tagless "+strconv.FormatBool(tagless), func(t *testing.T) {
			fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 8, Open: func(t testing.TB) fetchertest.Upstream { return open(t, tagless) }})
		})
	}
}

// open serves a platform whose answers can be replaced.
func open(t testing.TB, tagless bool) fetchertest.Upstream {
	p := enginetest.NewPlatform(enginetest.PlatformConfig{PageSize: 8})
	platform := p.Handler()
	var instead atomic.Pointer[http.HandlerFunc]
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tagless {
			r.Header.Del("If-None-Match")
			w = withoutTag{w}
		}
		if h := instead.Load(); h != nil {
			(*h)(w, r)
			return
		}
		platform.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	answer := func(h http.HandlerFunc) { instead.Store(&h) }
	ids := map[string]string{}
	return fetchertest.Upstream{
		New: func(t testing.TB) fetcher.Fetcher {
			f, err := mastodon.New(mastodon.Config{BaseURL: server.URL, PageSize: 8})
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
			answer(func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, `{"error":"The access token is invalid"}`, http.StatusUnauthorized)
			})
		},
		Limit: func(wait time.Duration) {
			answer(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())))
				http.Error(w, `{"error":"Too many requests"}`, http.StatusTooManyRequests)
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

// withoutTag leaves the ETag out of an answer.
type withoutTag struct{ http.ResponseWriter }

func (w withoutTag) Write(b []byte) (int, error) {
	w.Header().Del("ETag")
	return w.ResponseWriter.Write(b)
}
