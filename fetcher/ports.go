package fetcher

import (
	"context"
	"time"
)

// Fetcher reads one account's timeline.
//
// Timeline returns one page, in the platform's own order, newest first, and sets
// Page.Next while older posts can be had. Calls are concurrent, but never for the
// same account. It must return when ctx ends. A call makes at most one upstream
// request where the platform allows it (a look-up of the account's id may be one
// more, once). On an error the page is ignored, and the engine asks again.
type Fetcher interface {
	Timeline(ctx context.Context, q TimelineQuery) (Page, error)
}

// Searcher answers advanced search queries. Its contract is that of Fetcher.
type Searcher interface {
	Search(ctx context.Context, q SearchQuery) (Page, error)
}

// BatchFetcher reads several timelines in one upstream call. The answer has one page
// per query, in order; an error of one account alone is its Page.Err. A method
// BatchLimit() int, if there is one, returns how many queries a call may have, at least 1;
// the engine makes none with more than 1,000.
type BatchFetcher interface {
	Timelines(ctx context.Context, qs []TimelineQuery) ([]Page, error)
}

// TimelineQuery asks for a page of one account's timeline.
type TimelineQuery struct {
	// Username is the account's handle without @, in the user's spelling: 1 to 253 letters
	// and digits of ASCII, "_", "-", ".", ":" and "@", or an address of http or https, of at
	// most 512 bytes. Monitors take no other, and compare them without case.
	Username string
	// UserID is the account's id as an earlier page gave it in Page.UserID, or
	// "". It spares a look-up and survives a rename. After ErrNotFound the next poll
	// asks without it, for an account that was made anew under the name, and with it
	// again if there is none: an adapter forgets a remembered id that is not found.
	UserID string
	// Cursor is the Page.Next of the page before, "" for the newest page.
	Cursor string
	// Limit is the wished number of posts; 0 leaves it to the adapter, which
	// may also return fewer or more.
	Limit int
	// Since is a lower bound, for platforms that bill each post they return:
	// the engine does not need posts published before it. It lies before
	// everything that the engine has not seen, the overlap included. Zero is no
	// bound. An adapter may ignore it; one that follows it need not set
	// Page.Next once the platform has nothing newer left, and sets Page.OldestAt
	// to Since then: so an empty page says that nothing was posted.
	Since time.Time
	// Seen reports whether a post is known already and need not be decoded.
	// It may be nil. It is only valid during the call, and for one goroutine
	// at a time.
	Seen func(id string) bool
	// Known is the Version of the first page whose posts have all been dealt
	// with, 0 for none. When the page is still the same, the adapter may answer
	// Page.Unchanged instead of its posts. A Known that the adapter does not
	// remember, one with a Cursor and one without Seen are ignored.
	Known uint64
}

// SearchQuery asks for a page of posts that match an advanced search.
type SearchQuery struct {
	Query string
	Type  string // "Latest" (default), "Top" or "Media"
	// Cursor, Limit, Since and Seen are those of a TimelineQuery.
	Cursor string
	Limit  int
	Since  time.Time
	Seen   func(id string) bool
	// Known is the Version of the first page of this Query, Type and Limit whose
	// posts have all been dealt with, 0 for none. When the page is still the same,
	// the Searcher may answer Page.Unchanged instead of its posts. A Known that the
	// Searcher does not remember and one with a Cursor are ignored.
	Known uint64
}

// Page is one answer of a platform.
type Page struct {
	// Tweets in the platform's order, newest first, less those left out
	// because Seen knew them.
	Tweets []Tweet
	// Skipped counts the posts left out because Seen knew them.
	Skipped int
	// Others counts posts of other accounts that the same answer showed, where
	// several share one: they tell how far back it reaches, as OldestAt says.
	Others int
	// OldestAt is how far back the page reaches, skipped posts included: see
	// Reach. It must be set when posts were skipped; else zero is fine.
	OldestAt time.Time
	// Next fetches the page of older posts, "" when there are none. A gap, which is read
	// on later, and a client's next_cursor keep at most 4,096 bytes of it: one that is longer
	// is not followed then.
	Next string
	// UserID is the account's id where the platform has one.
	UserID string
	// RateLimit is what the answer said about the caller's budget.
	RateLimit RateLimit
	// ServerTime is the upstream's clock when it answered, zero if unknown.
	ServerTime time.Time
	// AsOf is when the platform was last asked, where an adapter answers from memory
	// because it must not ask yet: the poll then covers what was published until then.
	// Zero is for an answer of the platform itself.
	AsOf time.Time
	// Billed is what the platform charges for this answer. It counts beside an error,
	// too.
	Billed Billed
	// Err says of a page of a BatchFetcher's answer that this account could not
	// be read, while others could; the page's other fields are ignored.
	Err error
	// Version names the state of this first page for the Known of a later query; 0
	// when the adapter does not tell. Equal versions of one account, or of one
	// search with the same Type and Limit, mean equal posts in equal order; unequal
	// ones mean nothing.
	Version uint64
	// Unchanged: the page is as Known says. Tweets is empty, Skipped counts its
	// posts, and OldestAt, Next, UserID and Version are as they were; RateLimit,
	// ServerTime and Billed are this answer's.
	Unchanged bool
}

// RateLimit is what a platform said about the caller's remaining calls. The zero
// value means that it said nothing.
type RateLimit struct {
	Known     bool
	Limit     int       // calls per window
	Remaining int       // calls left in this window
	Reset     time.Time // when the window ends, zero if unknown
}

// Reach computes how far back a page reaches from its posts in timeline order. One
// post with a wrong, too early time must not make a page look complete, so it takes
// two: the reach is the later of the last two. Pinned posts stand out of order and
// must not be added.
type Reach struct{ last, prev time.Time }

// Add adds the publication time of the next post.
func (r *Reach) Add(t time.Time) {
	if t.IsZero() {
		return
	}
	r.prev, r.last = r.last, t
}

// Time returns the reach so far, zero when nothing was added.
func (r *Reach) Time() time.Time {
	if r.prev.After(r.last) {
		return r.prev
	}
	return r.last
}
