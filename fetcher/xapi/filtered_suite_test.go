package xapi_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

// byAuthor is a Streamer of accounts made of one of queries, for the suite: an account is
// the query of its posts. A signal of some of the accounts waits until all are told: a
// rule is in force 20 s after it was made.
type byAuthor struct{ fetcher.Streamer }

func (b byAuthor) Stream(ctx context.Context, q fetcher.StreamQuery, emit func(fetcher.Signal) error) error {
	wanted := make(chan []fetcher.Account, 1)
	wanted <- q.Accounts
	changes := make(chan []fetcher.SearchQuery)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-ctx.Done():
				return
			case accounts, ok := <-q.Changes:
				if !ok {
					close(changes)
					return
				}
				<-wanted
				wanted <- accounts
				select {
				case changes <- byAuthorQueries(accounts):
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	defer func() {
		cancel()
		<-done
	}()
	up := false
	return b.Streamer.Stream(ctx, fetcher.StreamQuery{Queries: byAuthorQueries(q.Accounts), QueryChanges: changes}, func(g fetcher.Signal) error {
		switch g.Kind {
		case fetcher.SignalUp, fetcher.SignalAccounts:
			accounts := <-wanted
			wanted <- accounts
			for _, a := range accounts {
				if slices.Contains(g.Queries, "from:"+a.Username) {
					g.Accounts = append(g.Accounts, a)
				}
			}
			if len(g.Accounts) != len(accounts) {
				return nil
			}
			if g.Kind = fetcher.SignalAccounts; !up {
				g.Kind, up = fetcher.SignalUp, true
			}
		case fetcher.SignalHeartbeat:
			if !up {
				return nil
			}
		case fetcher.SignalPost:
			g.Post.Username = strings.TrimPrefix(g.Queries[0], "from:")
		}
		return emit(g)
	})
}

func byAuthorQueries(accounts []fetcher.Account) (all []fetcher.SearchQuery) {
	for _, a := range accounts {
		all = append(all, fetcher.SearchQuery{Query: "from:" + a.Username, Type: "Latest"})
	}
	return all
}

func TestFilteredStreamSuite(t *testing.T) {
	fetchertest.TestStreamer(t, fetchertest.StreamKit{Bubble: true, Open: func(t testing.TB) fetchertest.StreamUpstream {
		f := newFake(t, xapitest.Config{})
		return fetchertest.StreamUpstream{
			New:      func(t testing.TB) fetcher.Streamer { return byAuthor{f.filtered(t, xapi.FilteredStreamConfig{})} },
			Accounts: f.add("ann", "bob", "cyd"),
			Post:     func(a fetcher.Account, text string) { f.Post(a.Username, text) },
			Break:    f.net.Cut,
		}
	}})
}

// A rule that was made just before a connection broke off is as new to the next one.
func TestFilteredStreamRemembersNewRules(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		s := f.filtered(t, xapi.FilteredStreamConfig{})
		l := listen(t, s, fetcher.StreamQuery{Queries: queries("cat")})
		wantQueries(t, "at first", l.next(), fetcher.SignalUp)
		began := time.Now()
		f.net.Cut()
		l.over()
		l = listen(t, s, fetcher.StreamQuery{Queries: queries("cat")})
		wantQueries(t, "of the next connection", l.next(), fetcher.SignalUp)
		wantQueries(t, "later", l.next(), fetcher.SignalAccounts, "cat")
		if d := time.Since(began); d < 19*time.Second {
			t.Errorf("in force after %s, want 20 s", d)
		}
		l.stop()
	})
}

// A post that the stream brings and a search finds is counted once.
func TestFilteredStreamSharesABill(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t, xapitest.Config{})
		f.add("ann")
		x, err := xapi.New(xapi.Config{BaseURL: "http://api.example.com", Token: "token", HTTP: f.net.Client()})
		if err != nil {
			t.Fatal(err)
		}
		l := listen(t, f.filtered(t, xapi.FilteredStreamConfig{Fetcher: x}), fetcher.StreamQuery{Queries: queries("cat")})
		l.next()
		l.next()
		f.Post("ann", "a cat")
		streamed := l.next().Billed
		l.stop()
		<-time.After(time.Minute) // a search ends half a minute ago
		page, err := x.Search(t.Context(), fetcher.SearchQuery{Query: "cat", Type: "Latest"})
		if err != nil || len(page.Tweets) != 1 || streamed.Plus(page.Billed) != f.Billed() {
			t.Errorf("counted %+v and %+v for %d posts, %v; X charges for %+v", streamed, page.Billed, len(page.Tweets), err, f.Billed())
		}
	})
}
