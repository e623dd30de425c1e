package poll

import (
	"context"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Traits describe one kind of target: how to ask for its posts, and what its answers mean.
type Traits struct {
	Kind      Kind   // index of the polls' counters in Counters.Kinds
	Noun, Key string // noun for a target in the log, and the attribute for its name
	// Target returns the journal's key of the target with the given Poll.Name.
	Target func(name string) string

	// Call asks the platform for the next page of a poll. It runs on a worker. It may use e, p.Plan
	// and p.Out.
	Call func(ctx context.Context, e *Env, p *Poll) (fetcher.Page, error)
	// EndsKnown reports whether the last page shows that earlier polls have read the target's older
	// posts.
	EndsKnown func(p *Poll, pg *fetcher.Page) bool

	// NewestFirst is true if pages come newest first, as the Fetcher's contract requires. They are
	// then checked for that. If false, the order of pages is observed, and an empty page is not the
	// end.
	NewestFirst bool
	// OneAuthor is true if all posts have one author, with an id that the pages give.
	OneAuthor bool
	// Resumes is true if a gap can be read later, from the cursor where a poll stopped.
	// Otherwise gaps are closed by polls that read back past them.
	Resumes bool
	// ShowsLateness is true if a post that an earlier poll did not show has become visible late. If
	// false, an old post may also appear for another reason.
	ShowsLateness bool
	// Refusable is true if an error of the request (400 or 422) means that the target itself is
	// wrong. The error is then reported immediately.
	Refusable bool
}

// call returns the kind of call that a poll makes.
func (t *Traits) call(p *Poll) fetcher.Call {
	if t.Kind == Queries {
		return fetcher.Call{Role: fetcher.RoleSearch}
	}
	return fetcher.Call{Role: fetcher.RoleTimeline, Account: fetcher.Account{Username: p.Name, UserID: p.Plan.Timeline.UserID}}
}

// NextTimeline returns the request for the first or the next page of an account.
func (p *Poll) NextTimeline() fetcher.TimelineQuery {
	q, out := p.Plan.Timeline, &p.Out
	if n := len(out.cursors); n > 0 {
		q.Cursor = out.cursors[n-1]
	}
	if len(out.Pages) > 0 {
		q.Known = 0
		if out.UserID != "" {
			q.UserID = out.UserID
		}
	}
	return q
}

// NextSearch returns the request for the first or the next page of a query. It asks for at most
// pageSize posts; if pageSize is 0, only Plan.Limit applies.
func (p *Poll) NextSearch(pageSize int) fetcher.SearchQuery {
	q, out := p.Plan.Search, &p.Out
	q.Limit = p.Plan.Limit - out.Posts
	if pageSize > 0 {
		q.Limit = min(q.Limit, pageSize)
	}
	if n := len(out.cursors); n > 0 {
		q.Cursor, q.Known = out.cursors[n-1], 0
	}
	return q
}
