package fetcher

import (
	"context"
	"time"
)

// Prober tells with one cheap call which of many accounts have changed. What it
// says is a hint: the engine polls an account whose mark has changed at once,
// and goes on polling the others, more seldom the better the marks prove to be.
type Prober interface {
	// Probe returns one mark for each account, in the same order, for at most
	// ProbeLimit accounts. It is called from several goroutines at once. On an
	// error the marks are ignored; after ErrUnsupported it is not called again.
	Probe(ctx context.Context, accounts []Account) (Probe, error)
	// ProbeLimit is how many accounts one call takes, at least 1.
	ProbeLimit() int
}

// Account names an account to a Prober or a Streamer.
type Account struct {
	// Username is the account's handle without @, in the user's spelling.
	Username string
	// UserID is the account's id as a page gave it in Page.UserID, "" until one
	// did.
	UserID string
}

// Probe is a Prober's answer.
type Probe struct {
	// Marks says of each account asked for how it is now.
	Marks []Mark
	// RateLimit is what the answer said about the caller's budget.
	RateLimit RateLimit
	// ServerTime is the upstream's clock when it answered, zero if unknown.
	ServerTime time.Time
	// Billed is what the platform charges for this answer.
	Billed Billed
}

// Mark stands for what a platform tells of an account without showing its
// posts: a count, the newest id, a revision. Unequal marks mean that the account
// has probably changed; equal ones prove nothing. NoMark is for an account that
// the answer leaves out.
type Mark uint64

// NoMark says nothing: the account's mark stays as it was.
const NoMark Mark = 0
