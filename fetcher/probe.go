package fetcher

import (
	"context"
	"time"
)

// Prober finds out with one cheap call which of many accounts have changed. The engine polls an
// account immediately if its mark has changed. It still polls the other accounts, and less
// often if the marks prove reliable.
type Prober interface {
	// Probe returns one mark for each account, in the same order, for at most ProbeLimit
	// accounts. Several goroutines may call Probe concurrently. On an error the engine ignores
	// the marks. After ErrUnsupported it does not call Probe again.
	Probe(ctx context.Context, accounts []Account) (Probe, error)
	// ProbeLimit returns the largest number of accounts in a call, at least 1.
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
	// RateLimit is the number of calls left, as the answer gave it.
	RateLimit RateLimit
	// ServerTime is the platform's clock when it answered, zero if unknown.
	ServerTime time.Time
	// Billed counts the items that the platform charges for in this answer.
	Billed Billed
}

// Mark stands for the state of an account. An adapter computes it from a value that is cheaper
// to read than the posts, such as a count, the newest id or a revision. Different marks mean
// that the account has probably changed; equal marks prove nothing. Use NoMark for an account
// that is missing from the answer.
type Mark uint64

// NoMark says that the account's state is unknown. The engine then keeps the account's last mark.
const NoMark Mark = 0
