package fetcher

import (
	"context"
	"time"
)

// Fetcher reads one account's timeline.
//
// Timeline returns one page, in the platform's own order, newest first, and sets Page.Next
// while there are older posts to read. Calls are concurrent, but never for the same account.
// Timeline must return when ctx ends. A call should make one upstream request. If the platform
// needs the account's id, the first call for an account may make a second request to look it
// up. After an error the engine ignores the page and calls again later.
type Fetcher interface {
	Timeline(ctx context.Context, q TimelineQuery) (Page, error)
}

// Searcher answers advanced search queries. The rules of Fetcher apply to Search, too.
type Searcher interface {
	Search(ctx context.Context, q SearchQuery) (Page, error)
}

// BatchFetcher reads several timelines in one upstream call. Timelines returns one page per
// query, in the order of qs. If one account cannot be read, the error goes into the Err of that
// account's page. The optional method BatchLimit() int returns the largest number of queries in
// a call, at least 1. The engine never passes more than 1,000.
type BatchFetcher interface {
	Timelines(ctx context.Context, qs []TimelineQuery) ([]Page, error)
}

// TimelineQuery asks for a page of one account's timeline.
type TimelineQuery struct {
	// Username is the account's handle without @, in the user's spelling: 1 to 253 ASCII
	// letters, digits, "_", "-", ".", ":" and "@", or an http or https URL of at most 512
	// bytes. Monitors accept no other names, and compare them without regard to case.
	Username string
	// UserID is the account's id from an earlier Page.UserID, or "". The id saves a look-up, and
	// stays the same if the account is renamed. After ErrNotFound the next poll has no UserID,
	// because a new account may have taken the name. If that poll finds no account either, the
	// poll after it has the UserID again. An adapter must not remember an id that was not found.
	UserID string
	// Cursor is the Page.Next of the previous page, "" for the newest page.
	Cursor string
	// Limit is the number of posts to ask for. 0 leaves the number to the adapter. The
	// page may have fewer or more.
	Limit int
	// Since is the publication time of the oldest post that the engine needs; zero means no
	// bound. It is for platforms that bill each post they return. An adapter may ignore Since.
	// An adapter that uses it may leave Page.Next empty once it has returned all posts since
	// then. It must then set Page.OldestAt to Since. An empty page with that OldestAt means
	// that nothing was posted.
	Since time.Time
	// Seen reports whether a post is known already and need not be decoded. Seen may be nil. It
	// may be called only during the call of Timeline, by one goroutine at a time.
	Seen func(id string) bool
	// Known is the Page.Version of the account's first page at an earlier poll. It is 0 unless
	// the engine has handled all posts of that page. If the page is still the same, the adapter
	// may set Page.Unchanged and return no posts. The adapter ignores Known if it does not
	// remember that version, if Cursor is set, or if Seen is nil.
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
	// Known is the Page.Version of an earlier first page for the same Query, Type and Limit. It
	// is 0 unless the engine has handled all posts of that page. If the page is still the same,
	// the Searcher may set Page.Unchanged and return no posts. The Searcher ignores Known if it
	// does not remember that version, or if Cursor is set.
	Known uint64
}

// Page is one answer of a platform.
type Page struct {
	// Tweets are the posts in the platform's order, newest first, without those that
	// Seen reported as known.
	Tweets []Tweet
	// Skipped is the number of posts left out because Seen reported them as known.
	Skipped int
	// Others is the number of posts in the answer that are not for this account: of other
	// accounts, if one answer covers several, or withheld. OldestAt counts these posts too.
	Others int
	// OldestAt is the time to which the page reaches back, as a Reach computes it. Skipped
	// posts count. OldestAt must be set if posts were skipped; otherwise it may be zero. While
	// there is a Next, it must not be before the oldest post that was read.
	OldestAt time.Time
	// Next is the cursor of the next older page, "" if there is none. The engine uses a cursor
	// longer than 4,096 bytes only in the poll that received it. It neither stores such a
	// cursor with a gap nor gives it to a client as next_cursor.
	Next string
	// UserID is the account's id, "" if the platform has no ids.
	UserID string
	// RateLimit is the number of calls left, as the answer gave it.
	RateLimit RateLimit
	// ServerTime is the upstream's clock when it answered, zero if unknown.
	ServerTime time.Time
	// AsOf is zero if the platform itself answered. If the adapter must not ask the platform
	// yet and answered from memory, AsOf is the time of its last request. The poll then covers
	// the posts published until AsOf.
	AsOf time.Time
	// Billed counts the items that the platform charges for in this answer. The engine adds it
	// up even if the call returns an error.
	Billed Billed
	// Err is the reason why a BatchFetcher could not read this one account. The engine then
	// ignores the page's other fields.
	Err error
	// Version identifies the content of a first page; 0 if the adapter has no versions. The
	// engine passes it as Known in a later query. Equal versions of one account, or of one
	// search with the same Type and Limit, mean the same posts in the same order. Different
	// versions prove nothing.
	Version uint64
	// Unchanged reports that the page has not changed since the version in the query's Known.
	// Tweets is then empty and Skipped is the number of posts on the page. OldestAt, Next,
	// UserID and Version are the same as before. RateLimit, ServerTime and Billed are those of
	// this answer.
	Unchanged bool
}

// RateLimit is the number of calls left, as the platform's answer gives it. The zero value
// means that the answer did not give it.
type RateLimit struct {
	Known     bool
	Limit     int       // calls per window
	Remaining int       // calls left in this window
	Reset     time.Time // when the window ends, zero if unknown
}

// Reach computes the time to which a page reaches back. Add the page's posts in timeline order,
// without pinned posts. The result is the later of the last two times added: a single post with
// a time that is too early does not make the page look complete.
type Reach struct{ last, prev time.Time }

// Add adds the publication time of the next post.
func (r *Reach) Add(t time.Time) {
	if t.IsZero() {
		return
	}
	r.prev, r.last = r.last, t
}

// Time returns the time to which the posts added so far reach back, zero if there are none.
func (r *Reach) Time() time.Time {
	if r.prev.After(r.last) {
		return r.prev
	}
	return r.last
}
