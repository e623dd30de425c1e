package enginehttp_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/storage"
)

// longPages is a platform whose only cursor has so many bytes.
type longPages struct {
	*providers
	bytes int
}

func (p longPages) page(cursor string) fetcher.Page {
	if cursor != "" {
		return fetcher.Page{Tweets: []fetcher.Tweet{{ID: "second"}}}
	}
	return fetcher.Page{Tweets: []fetcher.Tweet{{ID: "first"}}, Next: strings.Repeat("c", p.bytes)}
}

func (p longPages) Timeline(_ context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	return p.page(q.Cursor), nil
}

func (p longPages) Search(_ context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	return p.page(q.Cursor), nil
}

func (p longPages) CommunityTweets(_ context.Context, q fetcher.CommunityQuery) (fetcher.Page, error) {
	return p.page(q.Cursor), nil
}

func (p longPages) CommunitySearch(_ context.Context, _, cursor string) ([]fetcher.Community, string, error) {
	page := p.page(cursor)
	return []fetcher.Community{{ID: page.Tweets[0].ID}}, page.Next, nil
}

// longCursors is a store whose log has cursors of so many bytes.
type longCursors struct {
	storage.Store
	bytes int
}

func (s longCursors) Ports() storage.Ports {
	p := s.Store.Ports()
	p.Log = longLog{p.Log, s.bytes}
	return p
}

type longLog struct {
	deliver.Log
	bytes int
}

func (l longLog) Deliveries(ctx context.Context, q deliver.LogQuery) (deliver.LogPage, error) {
	q.Cursor = strings.TrimLeft(q.Cursor, ">")
	p, err := l.Log.Deliveries(ctx, q)
	if p.Next != "" {
		p.Next = strings.Repeat(">", max(0, l.bytes-len(p.Next))) + p.Next
	}
	return p, err
}

// A cursor of a provider or of the store that is as long as it may be leads on; for one that
// is longer the page is refused, rather than the client who sends it back.
func TestLongCursors(t *testing.T) {
	const longest = 4096
	for path, refused := range map[string]int{
		"/users/nasa/latest_tweets?":         502,
		"/tweets/advanced_search?query=moon": 502,
		"/communities/9/tweets?":             502,
		"/communities/search?query=moon":     502,
		"/stream/logs?page_size=1":           500,
		"/stream/logs?page_size=2&offset=1":  500,
	} {
		for _, bytes := range []int{10, 3100, longest, longest + 1} {
			w := newWorld(t, func(s *setup) {
				p := longPages{&providers{}, bytes}
				s.options.Providers.Timeline, s.options.Providers.Search, s.options.Providers.CommunityTweets, s.options.Providers.CommunitySearch = p, p, p, p
				s.faults = func(s storage.Store) storage.Store { return longCursors{s, bytes} }
			})
			withOldLogs(t, w, 1, 2, 3)
			before, _ := w.spent(mine)
			a := w.do(mine, "GET", social+path, "")
			if bytes > longest {
				if after, _ := w.spent(mine); a.status != refused || after != before {
					t.Errorf("%s with a cursor of %d bytes: %d %.200s, charged %d, want %d for nothing", path, bytes, a.status, a.body, after-before, refused)
				}
				continue
			}
			next, _ := a.decode(t)["next_cursor"].(string)
			if a.status != 200 || next == "" {
				t.Errorf("%s with a cursor of %d bytes: %d %.200s, want a next_cursor", path, bytes, a.status, a.body)
				continue
			}
			path, _, _ := strings.Cut(path, "&offset")
			if a := w.do(mine, "GET", social+path+"&cursor="+url.QueryEscape(next), ""); a.status != 200 {
				t.Errorf("%s, its next page with a cursor of %d bytes: %d %.200s", path, bytes, a.status, a.body)
			}
		}
	}
}
