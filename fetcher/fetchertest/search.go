package fetchertest

import (
	"context"
	"slices"

	"github.com/streamwatch/streamwatch/fetcher"
)

// timelineOnly are the cases that do not apply to searches, because a SearchQuery has no
// UserID, and its Known does not need Seen.
var timelineOnly = []string{userIDCase, seenCase}

// searchCases returns the cases of timelines, applied to searches for an account's posts.
func searchCases() []testCase {
	cases := slices.Concat(pagingCases(), postCases(), seenCases(), sinceCases(), versionCases())
	cases = slices.DeleteFunc(cases, func(c testCase) bool { return slices.Contains(timelineOnly, c.name) })
	for i := range cases {
		read := cases[i].run
		cases[i].run = func(t *test) {
			if t.up.Query == nil {
				t.Skip("Upstream.Query is nil")
			}
			if fetcher.RolesOf(t.fetcher).Search == nil {
				t.Skip("the Fetcher is no fetcher.Searcher")
			}
			t.view = func(f fetcher.Fetcher) fetcher.Fetcher { return searched{fetcher.RolesOf(f).Search, t.up.Query} }
			t.fetcher = t.view(t.fetcher)
			read(t)
		}
	}
	return cases
}

// searched has the answers of searches as timelines.
type searched struct {
	fetcher.Searcher
	query func(account string) string
}

func (s searched) Timeline(ctx context.Context, q fetcher.TimelineQuery) (fetcher.Page, error) {
	return s.Search(ctx, fetcher.SearchQuery{Query: s.query(q.Username), Type: "Latest", Cursor: q.Cursor, Limit: q.Limit, Since: q.Since, Seen: q.Seen, Known: q.Known})
}
