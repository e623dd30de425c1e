package fetcher

import (
	"context"
	"time"
)

// Prober finds out with one cheap call which of many accounts have changed. The engine
// takes the answer as a hint: it polls an account at once if its mark has changed, and
// goes on polling the others, the less often the more reliable the marks prove to be.
type Prober interface {
	// Probe returns one mark for each account, in the same order, for at most
	// ProbeLimit accounts. It is called from several goroutines at once. On an
	// error the marks are ignored; after ErrUnsupported it is not called again.
	Probe(ctx context.Context, accounts []Account) (Probe, error)
	// ProbeLimit returns how many accounts one call may have, at least 1.
	ProbeLimit() int
}

// Account names an account to a Prober or a Streamer.
type Account struct {
	// Username is the account's handle without @, in the user's spelling.
	Username string
	// UserID is the account's id from an earlier Page.UserID, "" if none is known.
	UserID string
}

// Probe is a Prober's answer.
type Probe struct {
	// Marks has one mark for each account asked for, in the same order.
	Marks []Mark
	// RateLimit is the caller's remaining budget, as the answer gave it.
	RateLimit RateLimit
	// ServerTime is the platform's clock when it answered, zero if unknown.
	ServerTime time.Time
	// Billed is what the platform charges for this answer.
	Billed Billed
}

// Mark represents the state of an account, computed from something that is cheaper to
// read than its posts: a count, the newest id, a revision. Different marks mean that the
// account has probably changed; equal marks prove nothing. Use NoMark for an account
// that is missing from the answer.
type Mark uint64

// NoMark means that nothing is known: the account keeps its last mark.
const NoMark Mark = 0
