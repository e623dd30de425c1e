package fetcher

import (
	"context"
	"time"
)

// Streamer receives posts that a platform pushes. As Roles.Stream it receives the posts of
// accounts, as Roles.SearchStream the posts that match queries.
//
// The engine treats a pushed post like one found by a poll, and recognizes a repeated post by
// its id. It still polls the accounts, less often, and finds the posts that the stream left
// out. So a Streamer may miss posts, and may push a post twice.
type Streamer interface {
	// Stream connects and calls emit for each Signal, one at a time and in the order in which
	// the platform sent them. It returns when ctx ends, when the connection breaks, or when
	// emit returns an error. The engine then calls Stream again after a pause that grows with
	// each failure. After a RateLimitError or StatusError the pause is at least RetryAfter, up
	// to an hour.
	Stream(ctx context.Context, q StreamQuery, emit func(Signal) error) error
	// Brings reports whether the stream should push t, a post that a poll found. It returns
	// false for a kind of post that the platform never pushes, such as replies to strangers. If
	// Brings returns true and the stream did not push t, the engine trusts the stream less.
	Brings(t *Tweet) bool
}

// StreamQuery says what a Streamer should push.
type StreamQuery struct {
	// Accounts are the accounts to subscribe to at first. A Streamer that can subscribe only by
	// id ignores accounts without a UserID.
	Accounts []Account
	// Changes receives the complete list of accounts each time it changes. If the protocol
	// allows it, a Streamer changes its subscription without reconnecting; otherwise Stream
	// returns ErrResubscribe. Each list replaces the one before. A closed channel means that no
	// more changes follow; the stream continues.
	Changes <-chan []Account
	// Queries and QueryChanges take the place of Accounts and Changes for a Roles.SearchStream;
	// Accounts and Changes are nil then. Each query has the Type "Latest".
	Queries      []SearchQuery
	QueryChanges <-chan []SearchQuery
	// Position is the Position of an earlier Signal: the stream continues after that signal. If
	// it is "", the stream starts with the posts published from now on.
	Position string
}

// SignalKind is the kind of a Signal.
type SignalKind uint8

// Kinds of signals.
const (
	// SignalUp is the first signal: the platform has accepted the subscription and pushes the
	// posts of Accounts from now on. If Resumed is true, it also pushes every post since
	// StreamQuery.Position.
	SignalUp SignalKind = iota + 1
	// SignalAccounts says that from now on the stream pushes the posts of Accounts and of no
	// others. It does not push earlier posts of a new account. In a Roles.SearchStream,
	// SignalUp and SignalAccounts list Queries in place of Accounts.
	SignalAccounts
	// SignalPost contains a new post.
	SignalPost
	// SignalEdit contains an edited post, SignalDelete the id of a deleted post.
	// Neither counts as a new post.
	SignalEdit
	SignalDelete
	// SignalHeartbeat shows that the stream is alive. Until a signal follows SignalUp, the engine
	// polls the accounts as often as without a stream.
	SignalHeartbeat
	// SignalGap says that the stream may have missed posts of Accounts. The engine then polls
	// these accounts immediately. An empty list means all subscribed accounts. The list may
	// include accounts that are not subscribed.
	SignalGap
)

// Signal is one event of a stream.
type Signal struct {
	Kind SignalKind
	// Post is set in SignalPost and SignalEdit. Its UserID or Username names its author.
	Post *Tweet
	// ID is the id of the deleted post in SignalDelete.
	ID string
	// Accounts is set in SignalUp, SignalAccounts and SignalGap, with names as in StreamQuery. In
	// SignalPost it may name the accounts that the post is of, where the author's name and id do
	// not tell.
	Accounts []Account
	// Queries is set by a Roles.SearchStream. In SignalUp, SignalAccounts and SignalGap it
	// takes the place of Accounts. In SignalPost it lists the queries that the post matches.
	// Each entry is the Query of a SearchQuery in StreamQuery.
	Queries []string
	// Resumed is set only in SignalUp.
	Resumed bool
	// Position is for StreamQuery.Position, to resume the stream after this signal. It is "" if
	// the platform cannot resume. After resuming, some signals may be repeated.
	Position string
	// At is when the platform sent the signal, by its own clock; zero if unknown.
	At time.Time
	// Billed counts the items that the platform charges for in this signal.
	Billed Billed
}
