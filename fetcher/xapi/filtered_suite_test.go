package xapi_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

func TestFilteredStreamSuite(t *testing.T) {
	fetchertest.TestStreamer(t, fetchertest.StreamKit{Bubble: true, Open: func(t testing.TB) fetchertest.StreamUpstream {
		f := newFake(t, xapitest.Config{})
		return fetchertest.StreamUpstream{
			New:      func(t testing.TB) fetcher.Streamer { return f.filtered(t, xapi.FilteredStreamConfig{}) },
			Accounts: f.add("ann", "bob", "cyd"),
			Query:    func(a fetcher.Account) string { return "from:" + a.Username },
			Gradual:  true, // a rule is in force 20 s after it was made
			Post:     func(a fetcher.Account, text string) { f.Post(a.Username, text) },
			Break:    f.net.Cut,
		}
	}})
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
