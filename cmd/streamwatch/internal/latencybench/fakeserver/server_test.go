package fakeserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/mastodon"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// served serves a platform until the test ends.
func served(t *testing.T, accounts int) (*Server, string, *http.Client) {
	t.Helper()
	s := New(accounts, 1)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		web.Client().CloseIdleConnections()
		web.Close()
	})
	return s, web.URL, web.Client()
}

func reader(t *testing.T, url string, client *http.Client) *mastodon.Fetcher {
	t.Helper()
	m, err := mastodon.New(mastodon.Config{BaseURL: url, HTTP: client})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A client of Mastodon finds a post on the timeline, and the probe tells of it.
func TestTimelineAndProbe(t *testing.T) {
	s, url, client := served(t, 50)
	m := reader(t, url, client)
	names := s.Accounts()
	s.Post(1, "first")
	var accounts []fetcher.Account
	for i := range 40 {
		if _, err := m.Timeline(t.Context(), fetcher.TimelineQuery{Username: names[i]}); err != nil {
			t.Fatal(err)
		}
		accounts = append(accounts, fetcher.Account{Username: names[i]})
	}
	before, err := m.Probe(t.Context(), accounts)
	if err != nil {
		t.Fatal(err)
	}
	posted := s.Post(1, "second <b>")
	after, err := m.Probe(t.Context(), accounts)
	if err != nil {
		t.Fatal(err)
	}
	for i := range accounts {
		if before.Marks[i] == fetcher.NoMark || (before.Marks[i] != after.Marks[i]) != (i == 1) {
			t.Errorf("%s: mark %d, then %d; want a change of account0002 alone", names[i], before.Marks[i], after.Marks[i])
		}
	}
	page, err := m.Timeline(t.Context(), fetcher.TimelineQuery{Username: names[1]})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Tweets) != 2 || page.Tweets[0].ID != posted.ID || page.Tweets[0].Text != "second <b>" || !page.Tweets[0].PublishedAt.Equal(posted.PublishedAt) {
		t.Errorf("timeline %+v, want the post first that was made last", page.Tweets)
	}
}

// A stream brings the posts of all accounts, also of those on the second page of follows.
func TestStream(t *testing.T) {
	s, url, client := served(t, 100)
	streaming := *client
	streaming.Timeout = 0
	stream, err := mastodon.NewStream(mastodon.StreamConfig{BaseURL: url, Token: "any", HTTP: &streaming})
	if err != nil {
		t.Fatal(err)
	}
	var wanted []fetcher.Account
	for _, name := range s.Accounts() {
		wanted = append(wanted, fetcher.Account{Username: name})
	}
	var got []string
	errDone := errors.New("done")
	err = stream.Stream(t.Context(), fetcher.StreamQuery{Accounts: wanted}, func(sig fetcher.Signal) error {
		switch sig.Kind {
		case fetcher.SignalUp:
			if len(sig.Accounts) != 100 {
				t.Errorf("the stream brings %d accounts, want 100", len(sig.Accounts))
			}
			for i := range 100 {
				s.Post(i, fmt.Sprint("post <", i))
			}
		case fetcher.SignalPost:
			got = append(got, sig.Post.Username+" "+sig.Post.Text)
			if len(got) == 100 {
				return errDone
			}
		}
		return nil
	})
	if !errors.Is(err, errDone) {
		t.Fatal(err)
	}
	for i, name := range s.Accounts() {
		if want := fmt.Sprint(name, " post <", i); got[i] != want {
			t.Errorf("signal %d is %q, want %q", i, got[i], want)
		}
	}
}

func TestRefusals(t *testing.T) {
	_, url, client := served(t, 2)
	for path, want := range map[string]int{
		"/@account0001": 404, "/api/v1/timelines/public": 404,
		"/api/v1/accounts/verify_credentials": 401, "/api/v1/streaming?stream=direct": 400,
		"/api/v1/accounts/1/following?max_id=x":                  400,
		"/api/v1/accounts?" + strings.Repeat("id[]=100001&", 41): 422,
		"/api/v1/accounts?id[]=7":                                200,
	} {
		resp, err := client.Get(url + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s answers %d, want %d", path, resp.StatusCode, want)
		}
	}
}

// A client that does not read is cut off, and nobody waits for it.
func TestClientThatFallsBehind(t *testing.T) {
	s := New(1, 1)
	ctx, cut := context.WithCancel(t.Context())
	slow := &client{make(chan []byte, 1), cut}
	quick := &client{make(chan []byte, 9), func() { t.Error("a client that reads was cut off") }}
	if !s.join(slow) || !s.join(quick) {
		t.Fatal("clients were not accepted")
	}
	s.Post(0, "one")
	if ctx.Err() != nil {
		t.Error("the slow client was cut off with its first event")
	}
	s.Post(0, "two")
	if ctx.Err() == nil || len(quick.events) != 2 {
		t.Errorf("cut off: %v, the other got %d events; want the slow one cut off, and 2", ctx.Err() != nil, len(quick.events))
	}
	s.leave(slow)
	s.leave(quick)
}

func TestAccountIDs(t *testing.T) {
	s, url, client := served(t, 3)
	m := reader(t, url, client)
	var ids []string
	for _, name := range s.Accounts() {
		page, err := m.Timeline(t.Context(), fetcher.TimelineQuery{Username: name})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, page.UserID)
	}
	if want := []string{accountID(0), accountID(1), accountID(2)}; !slices.Equal(ids, want) || !slices.Equal(s.Accounts(), enginetest.AccountNames(3)) {
		t.Errorf("ids %v, want %v", ids, want)
	}
}
