package xapi_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

func TestActivitySuite(t *testing.T) {
	fetchertest.TestStreamer(t, fetchertest.StreamKit{Bubble: true, Open: func(t testing.TB) fetchertest.StreamUpstream {
		f := newFake(t, xapitest.Config{})
		var accounts []fetcher.Account
		for _, name := range []string{"ann", "bob", "cyd"} {
			accounts = append(accounts, fetcher.Account{Username: name, UserID: f.AddAccount(name)})
		}
		newest := map[string]string{}
		return fetchertest.StreamUpstream{
			New:      func(t testing.TB) fetcher.Streamer { return f.activity(t, xapi.ActivityConfig{}) },
			Accounts: accounts,
			Post:     func(a fetcher.Account, text string) { newest[a.Username] = f.Post(a.Username, text) },
			Delete:   func(a fetcher.Account) { f.Delete(newest[a.Username]) },
			Break:    f.net.Cut,
		}
	}})
}
