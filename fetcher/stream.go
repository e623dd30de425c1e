package fetcher

import (
	"context"
	"time"
)

// Streamer receives what a platform pushes: posts of accounts, as Roles.Stream, or
// posts that match queries, as Roles.SearchStream.
//
// Posts that it brings are taken as a poll's are, and told apart by their ids.
// Polls of the accounts go on, more seldom, and find what the stream left out;
// so a Streamer need not be complete, and may bring a post again.
type Streamer interface {
	// Stream connects and calls emit for each Signal, one at a time and in the
	// order in which the platform sent them. It returns when ctx ends, when the
	// connection breaks, or with the error of emit. It is called again after a
	// pause that grows with each failure, and that is at least the RetryAfter of a
	// RateLimitError or StatusError, up to an hour.
	Stream(ctx context.Context, q StreamQuery, emit func(Signal) error) error
	// Brings reports whether the stream is meant to bring a post, found by a
	// poll: false for those that the platform leaves out by design, such as
	// replies to strangers. A post that it is meant to bring and does not
	// counts against the stream's health.
	Brings(t *Tweet) bool
}

// StreamQuery says what a Streamer should push.
type StreamQuery struct {
	// Accounts are those wanted when the stream begins. A platform that knows
	// accounts by id alone leaves out those without a UserID.
	Accounts []Account
	// Changes brings all accounts wanted anew whenever they have changed. A
	// Streamer whose protocol can, changes its subscription without
	// reconnecting; others return ErrResubscribe. Only the newest value counts. When
	// it is closed, nothing changes any more, and the stream goes on.
	Changes <-chan []Account
	// Queries are those wanted of a Roles.SearchStream when it begins, each with the
	// Type "Latest", and QueryChanges brings all wanted anew, as Changes does.
	// Accounts and Changes are nil then.
	Queries      []SearchQuery
	QueryChanges <-chan []SearchQuery
	// Position is where to resume, a Signal's Position, "" for the present.
	Position string
}

// SignalKind says what a Signal tells.
type SignalKind uint8

// Kinds of signals.
const (
	// SignalUp is the first: the platform has accepted the subscription, and
	// brings the posts of Accounts from now on. Resumed says whether it also
	// brings everything since StreamQuery.Position.
	SignalUp SignalKind = iota + 1
	// SignalAccounts says that the stream brings the posts of Accounts, and of no
	// others, from now on. An account that is new among them has no past there.
	// Of a Roles.SearchStream it says so of Queries, as SignalUp does.
	SignalAccounts
	// SignalPost brings a new post.
	SignalPost
	// SignalEdit brings a post that was edited; SignalDelete the id of one that
	// was deleted. Neither is a new post.
	SignalEdit
	SignalDelete
	// SignalHeartbeat shows that the stream is alive.
	SignalHeartbeat
	// SignalGap says that the stream has left something out: of Accounts, which are
	// polled at once, or, without any, of all that it brings. Accounts that it does
	// not bring may be among them.
	SignalGap
)

// Signal is one thing that a stream tells.
type Signal struct {
	Kind SignalKind
	// Post of SignalPost and SignalEdit. Its UserID or Username tells whose it is.
	Post *Tweet
	// ID of the post that SignalDelete is about.
	ID string
	// Accounts of SignalUp, SignalAccounts and SignalGap, as StreamQuery named them.
	Accounts []Account
	// Queries, of a Roles.SearchStream, are in SignalUp and SignalAccounts what it
	// brings, in SignalGap as Accounts are, and in SignalPost which of these the
	// post matches: each the Query of a SearchQuery as StreamQuery had it.
	Queries []string
	// Resumed is SignalUp's.
	Resumed bool
	// Position resumes the stream after this signal, "" where the platform has
	// no such thing. Resuming may bring some signals again.
	Position string
	// At is when the platform sent the signal, by its own clock; zero if unknown.
	At time.Time
	// Billed is what the platform charges for this signal.
	Billed Billed
}
