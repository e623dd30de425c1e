package fetcher

import (
	"context"
	"time"
)

// Streamer receives posts that a platform pushes: posts of accounts, as Roles.Stream,
// or posts that match queries, as Roles.SearchStream.
//
// The engine treats a pushed post like one found by a poll, and recognizes a repeated
// post by its id. It goes on polling the accounts, less often, and finds the posts that
// the stream left out. So a Streamer may miss posts and may push a post twice.
type Streamer interface {
	// Stream connects and calls emit for each Signal, one at a time and in the
	// order in which the platform sent them. It returns when ctx ends, when the
	// connection breaks, or with the error of emit. The engine then calls it again
	// after a pause that grows with each failure. After a RateLimitError or
	// StatusError the pause is at least RetryAfter, up to an hour.
	Stream(ctx context.Context, q StreamQuery, emit func(Signal) error) error
	// Brings reports whether the stream should push t, a post that a poll found. It
	// returns false for posts that the platform leaves out by design, such as
	// replies to strangers. A post that the stream should have pushed and did not
	// counts against its health.
	Brings(t *Tweet) bool
}

// StreamQuery says what a Streamer should push.
type StreamQuery struct {
	// Accounts are the accounts to subscribe to at first. A platform that knows
	// accounts by id alone leaves out those without a UserID.
	Accounts []Account
	// Changes receives the complete list of accounts each time it changes. A Streamer
	// changes its subscription without reconnecting if its protocol allows that;
	// otherwise Stream returns ErrResubscribe. Only the newest list counts. Closing
	// the channel means that no more changes follow; the stream goes on.
	Changes <-chan []Account
	// Queries and QueryChanges take the place of Accounts and Changes for a
	// Roles.SearchStream; Accounts and Changes are nil then. Each query has the Type
	// "Latest".
	Queries      []SearchQuery
	QueryChanges <-chan []SearchQuery
	// Position is the Position of the Signal to resume after, or "" to start with the
	// posts published from now on.
	Position string
}

// SignalKind is the kind of a Signal.
type SignalKind uint8

// Kinds of signals.
const (
	// SignalUp is the first signal: the platform has accepted the subscription, and
	// pushes the posts of Accounts from now on. Resumed reports whether it also
	// pushes every post since StreamQuery.Position.
	SignalUp SignalKind = iota + 1
	// SignalAccounts says that from now on the stream pushes the posts of Accounts
	// and of no others. Earlier posts of a new account are not pushed. SignalUp and
	// SignalAccounts of a Roles.SearchStream list Queries in place of Accounts.
	SignalAccounts
	// SignalPost contains a new post.
	SignalPost
	// SignalEdit contains an edited post, SignalDelete the id of a deleted post.
	// Neither counts as a new post.
	SignalEdit
	SignalDelete
	// SignalHeartbeat shows that the stream is alive.
	SignalHeartbeat
	// SignalGap says that the stream may have missed posts of Accounts, which are then
	// polled at once. Without Accounts it means all subscribed accounts. Accounts that
	// are not subscribed are allowed.
	SignalGap
)

// Signal is one event of a stream.
type Signal struct {
	Kind SignalKind
	// Post is set in SignalPost and SignalEdit. Its UserID or Username names its author.
	Post *Tweet
	// ID is the id of the deleted post in SignalDelete.
	ID string
	// Accounts is set in SignalUp, SignalAccounts and SignalGap, with names as in StreamQuery.
	Accounts []Account
	// Queries is set by a Roles.SearchStream: in SignalUp, SignalAccounts and SignalGap
	// it takes the place of Accounts; in SignalPost it lists the queries that the post
	// matches. Each is the Query of a SearchQuery in StreamQuery.
	Queries []string
	// Resumed belongs to SignalUp.
	Resumed bool
	// Position resumes the stream after this signal. It is "" if the platform cannot
	// resume. After resuming, some signals may be repeated.
	Position string
	// At is when the platform sent the signal, by its own clock; zero if unknown.
	At time.Time
	// Billed is what the platform charges for this signal.
	Billed Billed
}
