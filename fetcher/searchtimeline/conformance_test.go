package searchtimeline_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
	"github.com/streamwatch/streamwatch/fetcher/searchtimeline"
)

func TestFetcher(t *testing.T) {
	fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 8, Open: func(testing.TB) fetchertest.Upstream {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{PageSize: 8})
		s := &refusing{Searcher: p}
		ids := map[string]string{}
		return fetchertest.Upstream{
			New: func(t testing.TB) fetcher.Fetcher {
				f, err := searchtimeline.New(searchtimeline.Config{Searcher: s})
				if err != nil {
					t.Fatal(err)
				}
				return f
			},
			Accounts: enginetest.AccountNames(3),
			Post: func(account, text string, at time.Time) {
				ids[account+text] = p.PostAt(account, text, at, time.Time{}).ID
			},
			Delete:       func(account, text string) { p.Delete(account, ids[account+text]) },
			Query:        func(account string) string { return "from:" + account },
			Missing:      "no handle", // a search does not tell who is gone, but no query can have this
			Unauthorized: func() { s.with(fetcher.ErrUnauthorized) },
			Limit:        func(wait time.Duration) { s.with(&fetcher.RateLimitError{RetryAfter: wait}) },
			Garble:       func() { s.with(fetcher.ErrMalformed) },
			Stall:        func() { s.with(nil) },
		}
	}})
}

// refusing is a Searcher that can be made to give an error, nil for none before
// the caller gives up.
type refusing struct {
	fetcher.Searcher
	instead atomic.Pointer[error]
}

func (s *refusing) with(err error) { s.instead.Store(&err) }

func (s *refusing) Search(ctx context.Context, q fetcher.SearchQuery) (fetcher.Page, error) {
	err := s.instead.Load()
	switch {
	case err == nil:
		return s.Searcher.Search(ctx, q)
	case *err == nil:
		<-ctx.Done()
		return fetcher.Page{}, ctx.Err()
	}
	return fetcher.Page{}, *err
}
