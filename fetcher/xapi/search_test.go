package xapi_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/xapi"
	"github.com/streamwatch/streamwatch/fetcher/xapi/xapitest"
)

func (r *rig) find(q fetcher.SearchQuery) fetcher.Page {
	r.t.Helper()
	page, err := r.Search(context.Background(), q)
	if err != nil {
		r.t.Fatal(err)
	}
	return page
}

// A search is bounded by an id from its Since on, and has the last seconds too, which X
// leaves out of one without a bound.
func TestSearchIsBoundedBelow(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	r.Post("ann", "moon one")
	r.pass(10 * time.Minute)
	since := r.clock().Add(250 * time.Millisecond)
	r.Publish("ann", xapitest.Post{Text: "moon two", At: since.Add(-time.Millisecond)})
	r.Publish("ann", xapitest.Post{Text: "moon three", At: since})
	r.Post("ann", "mars")
	r.pass(time.Second)
	p := r.find(fetcher.SearchQuery{Query: "moon", Type: "Latest"})
	if got := texts(p); !slices.Equal(got, []string{"moon three", "moon two", "moon one"}) || r.last("max_results") != "10" || r.last("sort_order") != "recency" {
		t.Errorf("found %q by %v: want all, newest first, of the 10 asked for", got, r.asked)
	}
	if p.Tweets[0].UserID != "" || p.Tweets[0].Username != "" {
		t.Errorf("the author is %q, %q: want none without Expand", p.Tweets[0].UserID, p.Tweets[0].Username)
	}
	if want := "https://x.com/i/status/" + p.Tweets[0].ID; p.Tweets[0].Permalink != want {
		t.Errorf("the address is %q, want %q, which needs no handle", p.Tweets[0].Permalink, want)
	}
	p = r.find(fetcher.SearchQuery{Query: "moon", Type: "Latest", Since: since})
	if got := texts(p); !slices.Equal(got, []string{"moon three"}) || !p.OldestAt.Equal(since) || p.Billed.Posts != 0 {
		t.Errorf("found %q back to %s, billed %+v: want what is newer than %s, which was billed today", got, p.OldestAt, p.Billed, since)
	}
	p = r.find(fetcher.SearchQuery{Query: "moon", Since: r.clock()})
	if len(p.Tweets) != 0 || !p.OldestAt.Equal(r.clock()) {
		t.Errorf("nothing new: %+v", p)
	}
	p = r.find(fetcher.SearchQuery{Query: "moon", Since: r.clock().Add(-30 * 24 * time.Hour)})
	if len(p.Tweets) != 3 {
		t.Errorf("found %q since a month ago: want what there is of 7 days", texts(p))
	}
	if b := r.Billed(); b.Posts != 3 || b.Users != 0 {
		t.Errorf("billed %+v, want three posts", b)
	}
}

func TestSearchPages(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	for i := range 25 {
		r.Post("ann", fmt.Sprint("moon ", i))
		r.pass(time.Second)
	}
	q := fetcher.SearchQuery{Query: "moon", Limit: 10, Since: r.clock().Add(-time.Hour)}
	n, pages := 0, 0
	for {
		p := r.find(q)
		n, pages = n+len(p.Tweets), pages+1
		if q.Cursor = p.Next; p.Next == "" {
			break
		}
		q.Since = time.Time{}
	}
	if n != 25 || pages != 3 {
		t.Errorf("%d posts on %d pages, want 25 on 3", n, pages)
	}
}

func TestSearchTypes(t *testing.T) {
	r := newRig(t, xapitest.Config{}, nil)
	r.AddAccount("ann")
	r.Post("ann", "moon")
	r.Publish("ann", xapitest.Post{Text: "moon shot", Photo: "https://pbs.example/1.jpg"})
	r.pass(time.Minute)
	r.find(fetcher.SearchQuery{Query: "moon", Type: "Top"})
	if r.last("sort_order") != "relevancy" {
		t.Errorf("Top asks for %v", r.asked)
	}
	if p := r.find(fetcher.SearchQuery{Query: "moon OR mars", Type: "Media"}); !slices.Equal(texts(p), []string{"moon shot"}) || r.last("query") != "(moon OR mars) has:media" {
		t.Errorf("Media found %q by %v", texts(p), r.last("query"))
	}
}

// A query that X cannot answer is refused before any request, with the reason.
func TestSearchRefusesQueries(t *testing.T) {
	r := newRig(t, xapitest.Config{}, func(cfg *xapi.Config) { cfg.QueryLength = 60 })
	for _, row := range []struct{ query, kind, want string }{
		{`moon (`, "", "a query: "},
		{`moon filter:news`, "", "filter:news"},
		{strings.Repeat("moonlight ", 10), "", "at most 60 characters as X writes it, it has 99"},
		{`moon`, "Newest", "Latest, Top or Media"},
	} {
		_, err := r.Search(context.Background(), fetcher.SearchQuery{Query: row.query, Type: row.kind})
		var argument *fetcher.ArgumentError
		if !errors.As(err, &argument) || !strings.Contains(argument.Allowed, row.want) {
			t.Errorf("%q of type %q: %v, want a *fetcher.ArgumentError with %q", row.query, row.kind, err, row.want)
		}
	}
	if len(r.asked) != 0 {
		t.Errorf("%d requests for such queries", len(r.asked))
	}
}
