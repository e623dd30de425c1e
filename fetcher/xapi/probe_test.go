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

func TestListProbe(t *testing.T) {
	x := xapitest.New(xapitest.Config{Now: noon})
	accounts := []fetcher.Account{{UserID: x.AddAccount("ann")}, {UserID: x.AddAccount("bob")}, {UserID: x.AddAccount("stranger")}}
	list := x.AddList("ann", "bob")
	x.Post("stranger", "hello")
	p, err := xapi.NewListProbe(newFetcher(t, x, func(cfg *xapi.Config) { cfg.Now = noon }), list, 10)
	if err != nil {
		t.Fatal(err)
	}
	var billed fetcher.Billed
	probe := func() []fetcher.Mark {
		answer, err := p.Probe(context.Background(), accounts)
		if err != nil {
			t.Fatal(err)
		}
		billed = billed.Plus(answer.Billed)
		return answer.Marks
	}
	if m := probe(); m[0] != fetcher.NoMark || m[1] != fetcher.NoMark {
		t.Errorf("marks are %v before anybody has posted", m)
	}
	x.Post("ann", "one")
	first := probe()
	x.Post("ann", "two")
	x.Post("bob", "three")
	second := probe()
	if first[0] == fetcher.NoMark || second[0] == first[0] || second[1] == fetcher.NoMark || second[2] != fetcher.NoMark {
		t.Errorf("marks are %v, then %v: want those of the two members to change with each post, and none of the other", first, second)
	}
	if billed != x.Billed() || billed != (fetcher.Billed{Posts: 3, Users: 2}) {
		t.Errorf("billed %+v, by the server %+v: want three posts and their authors", billed, x.Billed())
	}
}

func TestNewListProbeRefuses(t *testing.T) {
	f := newFetcher(t, xapitest.New(xapitest.Config{}), nil)
	for _, row := range []struct {
		id    string
		posts int
		want  string
	}{
		{"my-list", 0, `xapi: list "my-list" is not allowed: want its id, a number`},
		{"12", 101, "xapi: 101 posts of a list are not allowed: want 1 to 100, or 0 for 100"},
	} {
		if _, err := xapi.NewListProbe(f, row.id, row.posts); err == nil || err.Error() != row.want {
			t.Errorf("NewListProbe(%q, %d): %v, want %s", row.id, row.posts, err, row.want)
		}
	}
}
