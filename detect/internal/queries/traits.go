package queries

import (
	"context"
	"errors"

	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fetcher"
)

// traits are the traits of queries. Their gaps are not read later, because rules limit the number
// of results. A post may begin to match a query long after its publication, for example when it
// gets more likes.
var traits = poll.Traits{
	Kind: poll.Queries, Noun: "query", Key: "query",
	Target:    Target,
	Call:      call,
	EndsKnown: endsKnown,
	Refusable: true,
}

func call(ctx context.Context, e *poll.Env, p *poll.Poll) (fetcher.Page, error) {
	pg, err := e.Roles.Search.Search(ctx, p.NextSearch(e.PageSize))
	if err == nil && pg.Err == nil && pg.Skipped != 0 && !pg.Unchanged {
		err = errors.New("detect: searcher leaves out posts without being asked to")
	}
	return pg, err
}

// endsKnown reports whether a page is unchanged or ends with a known post. A process that
// has just started knows no posts of a query, and relies on the cursor alone.
func endsKnown(p *poll.Poll, pg *fetcher.Page) bool {
	if pg.Unchanged {
		return p.Plan.KnowsAll(pg)
	}
	n := len(pg.Tweets)
	return n > 0 && (p.Plan.Blank || p.Plan.Has(pg.Tweets[n-1].ID))
}
