package fetchertest_test

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
)

// The test of an adapter. The stand-in is the fake platform, which answers as a
// Mastodon server does; that of another platform is a handler of its test's own.
func Example() {
	_ = func(t *testing.T) { // TestFetcher in the adapter's test file
		fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 20, Open: open})
	}
}

// open starts a stand-in and says how to read it and post to it.
func open(t testing.TB) fetchertest.Upstream {
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{"ann", "bob", "cyd"}})
	server := httptest.NewServer(platform.Handler())
	t.Cleanup(server.Close)
	return fetchertest.Upstream{
		New: func(t testing.TB) fetcher.Fetcher {
			m, err := mastodon.New(mastodon.Config{BaseURL: server.URL, PageSize: 20})
			if err != nil {
				t.Fatal(err)
			}
			return m
		},
		Accounts: []string{"ann", "bob", "cyd"},
		Post:     func(account, text string, at time.Time) { platform.PostAt(account, text, at, time.Time{}) },
		Missing:  "nobody",
	}
}
