package poll

import (
	"context"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Traits say how targets of one kind are asked for posts, and what their answers
// tell.
type Traits struct {
	Kind      Kind   // which of Counters.Kinds counts their polls
	Noun, Key string // what the log calls a target, and the attribute with its name
	// Target returns a target's key in the journal, by Poll.Name.
	Target func(name string) string

	// Call asks the platform for the next page of a poll. It runs on a worker, and
	// may use the Env, and Plan and Out of the poll.
	Call func(ctx context.Context, e *Env, p *Poll) (fetcher.Page, error)
	// EndsKnown reports whether a page, the last one read, shows that the target was
	// read from there on before.
	EndsKnown func(p *Poll, pg *fetcher.Page) bool

	// NewestFirst: pages come newest first, as the contract of a Fetcher has it, and
	// are checked against the contract. Other pages are watched for their order, and
	// an empty one of them is not the end.
	NewestFirst bool
	// OneAuthor: all posts are of one author, whose id the pages tell.
	OneAuthor bool
	// Resumes: a gap can be read on later, from the cursor where a poll stopped.
	// Other gaps are closed by polls that reach back behind them.
	Resumes bool
	// ShowsLateness: a post that an earlier poll did not show has become visible
	// late. Other targets may show an old post for another reason.
	ShowsLateness bool
	// Refusable: an error of the request (400 or 422) says that the target itself is
	// wrong, and is reported at once.
	Refusable bool
}

// call says what the calls of a poll are for.
func (t *Traits) call(p *Poll) fetcher.Call {
	if t.Kind == Queries {
		return fetcher.Call{Role: fetcher.RoleSearch}
	}
	return fetcher.Call{Role: fetcher.RoleTimeline, Account: fetcher.Account{Username: p.Name, UserID: p.Plan.Timeline.UserID}}
}

// NextTimeline asks for the first page of an account, or for the next one.
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

// NextSearch asks for the first page of a query, or for the next one, of pageSize
// posts at most; 0 is for no bound but Plan.Limit.
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
