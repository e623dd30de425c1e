package fetcher

import (
	"context"
	"time"
)

// Fetcher reads one account's timeline.
//
// Timeline returns one page, in the platform's own order, newest first, and sets
// Page.Next while there are older posts to read. Calls are concurrent, but never for
// the same account. It must return when ctx ends. A call should make one upstream
// request, plus one look-up of the account's id the first time if the platform needs
// it. After an error the engine ignores the page and asks again later.
type Fetcher interface {
	Timeline(ctx context.Context, q TimelineQuery) (Page, error)
}

// Searcher answers advanced search queries. The rules of Fetcher apply to Search, too.
type Searcher interface {
	Search(ctx context.Context, q SearchQuery) (Page, error)
}

// BatchFetcher reads several timelines in one upstream call. Timelines returns one page
// per query, in the order of qs; an error that concerns one account goes into its
// Page.Err. The optional method BatchLimit() int returns how many queries a call may
// have, at least 1. The engine never passes more than 1,000.
type BatchFetcher interface {
	Timelines(ctx context.Context, qs []TimelineQuery) ([]Page, error)
}

// TimelineQuery asks for a page of one account's timeline.
type TimelineQuery struct {
	// Username is the account's handle without @, in the user's spelling: 1 to 253 ASCII
	// letters, digits, "_", "-", ".", ":" and "@", or an http or https URL of at most 512
	// bytes. Monitors accept no other names, and compare them without regard to case.
	Username string
	// UserID is the account's id from an earlier Page.UserID, or "". It saves a
	// look-up, and stays the same if the account is renamed. After ErrNotFound the
	// next poll leaves it out, as a new account may have the name now. If none has, the
	// poll after it has the id again. An adapter forgets an id that is not found.
	UserID string
	// Cursor is the Page.Next of the previous page, "" for the newest page.
	Cursor string
	// Limit is the number of posts to ask for. 0 leaves the number to the adapter. The
	// page may have fewer or more.
	Limit int
	// Since is for platforms that bill each post they return: the engine does not need
	// posts published before it. Zero is no bound. An adapter may ignore Since. One that
	// uses it may leave Page.Next empty when all posts since then have been returned,
	// and must then set Page.OldestAt to Since; an empty page then means that nothing
	// was posted.
	Since time.Time
	// Seen reports whether a post is known already and need not be decoded.
	// It may be nil. It is only valid during the call, and for one goroutine
	// at a time.
	Seen func(id string) bool
	// Known is the Page.Version of an earlier first page, if all its posts have been
	// handled; 0 for none. If the page is still the same, the adapter may set
	// Page.Unchanged and return no posts. It ignores a Known that it does not
	// remember, and any Known with a Cursor or without Seen.
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
	// Known is the Page.Version of an earlier first page for the same Query, Type and
	// Limit, if all its posts have been handled; 0 for none. If the page is still the
	// same, the Searcher may set Page.Unchanged and return no posts. It ignores a Known
	// that it does not remember, and any Known with a Cursor.
	Known uint64
}

// Page is one answer of a platform.
type Page struct {
	// Tweets are the posts in the platform's order, newest first, without those that
	// Seen reported as known.
	Tweets []Tweet
	// Skipped is the number of posts left out because Seen reported them as known.
	Skipped int
	// Others is the number of posts of other accounts in the same answer, where one
	// answer covers several accounts. OldestAt takes them into account.
	Others int
	// OldestAt is how far back the page reaches, skipped posts included: see
	// Reach. It must be set if posts were skipped; otherwise it may be zero.
	OldestAt time.Time
	// Next is the cursor of the next older page, "" if there is none. A cursor longer than
	// 4,096 bytes works only in the poll that received it: it is not stored for a gap that
	// is read later, nor given to a client as next_cursor.
	Next string
	// UserID is the account's id, "" if the platform has no ids.
	UserID string
	// RateLimit is what the answer said about the caller's budget.
	RateLimit RateLimit
	// ServerTime is the upstream's clock when it answered, zero if unknown.
	ServerTime time.Time
	// AsOf is set if the adapter answered from memory because it must not ask the
	// platform yet. It is the time of the last request, and the poll covers the posts
	// published until then. Zero means that the platform itself answered.
	AsOf time.Time
	// Billed is what the platform charges for this answer. It also counts if the call
	// returns an error.
	Billed Billed
	// Err is set in a page of a BatchFetcher if this one account could not be read. The
	// page's other fields are then ignored.
	Err error
	// Version identifies the content of this first page, for the Known of a later
	// query; 0 if the adapter has no versions. Equal versions of one account, or of one
	// search with the same Type and Limit, mean the same posts in the same order.
	// Different versions mean nothing.
	Version uint64
	// Unchanged means that the page is still the one that the query's Known names.
	// Tweets is then empty, Skipped is the number of its posts, and OldestAt, Next,
	// UserID and Version are repeated. RateLimit, ServerTime and Billed are new.
	Unchanged bool
}

// RateLimit is how many calls the platform says are left. The zero value means that it
// said nothing.
type RateLimit struct {
	Known     bool
	Limit     int       // calls per window
	Remaining int       // calls left in this window
	Reset     time.Time // when the window ends, zero if unknown
}

// Reach computes how far back a page reaches. Add its posts in timeline order. The reach
// is the later of the last two times added, because one post with a wrong, too early
// time must not make the page look complete. Do not add pinned posts: they are out of
// order.
type Reach struct{ last, prev time.Time }

// Add adds the publication time of the next post.
func (r *Reach) Add(t time.Time) {
	if t.IsZero() {
		return
	}
	r.prev, r.last = r.last, t
}

// Time returns the reach so far, zero if nothing was added.
func (r *Reach) Time() time.Time {
	if r.prev.After(r.last) {
		return r.prev
	}
	return r.last
}
