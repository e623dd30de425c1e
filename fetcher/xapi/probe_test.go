package xapi_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// newFetcher reads a fake server.
func newFetcher(t testing.TB, x *xapitest.Server, change func(*xapi.Config)) *xapi.Fetcher {
	t.Helper()
	server := httptest.NewServer(x)
	t.Cleanup(server.Close)
	cfg := xapi.Config{BaseURL: server.URL, Token: "token"}
	if change != nil {
		change(&cfg)
	}
	f, err := xapi.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestUsersProbeSuite(t *testing.T) {
	fetchertest.TestProber(t, fetchertest.ProbeKit{Open: func(t testing.TB) fetchertest.ProbeUpstream {
		x := xapitest.New(xapitest.Config{})
		up := fetchertest.ProbeUpstream{
			Prober:  xapi.NewUsersProbe(newFetcher(t, x, nil)),
			Missing: fetcher.Account{Username: "nobody", UserID: "999"},
			Post:    func(a fetcher.Account) { x.Post(a.Username, "hello") },
		}
		for _, name := range []string{"ann", "bob", "cyd"} {
			up.Accounts = append(up.Accounts, fetcher.Account{Username: name, UserID: x.AddAccount(name)})
		}
		return up
	}})
}

// noon is in the middle of a day, by which X bills.
func noon() time.Time { return time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC) }

// A users probe is billed once a day for each account that it returns.
func TestUsersProbeIsBilled(t *testing.T) {
	x := xapitest.New(xapitest.Config{Now: noon})
	p := xapi.NewUsersProbe(newFetcher(t, x, func(cfg *xapi.Config) { cfg.Now = noon }))
	accounts := []fetcher.Account{{UserID: x.AddAccount("ann")}, {UserID: x.AddAccount("bob")}, {Username: "unknown"}}
	x.SetProtected("bob", true)
	var billed fetcher.Billed
	for range 3 {
		answer, err := p.Probe(context.Background(), accounts)
		if err != nil {
			t.Fatal(err)
		}
		billed = billed.Plus(answer.Billed)
		if answer.Marks[0] == fetcher.NoMark || answer.Marks[1] != fetcher.NoMark || answer.Marks[2] != fetcher.NoMark {
			t.Errorf("marks are %v, want one of the first account alone: the others are protected and unknown", answer.Marks)
		}
		if !answer.RateLimit.Known || answer.RateLimit.Limit != 300 {
			t.Errorf("rate limit %+v, want that of the endpoint", answer.RateLimit)
		}
	}
	if want := (fetcher.Billed{Users: 2}); billed != want || x.Billed() != want {
		t.Errorf("three probes are billed as %+v, by the server as %+v: want %+v", billed, x.Billed(), want)
	}
}
