package billing

import (
	"context"
	"errors"
	"time"
)

// Credits is an amount in thousandths of a credit.
type Credits int64

// Credit is one whole credit.
const Credit Credits = 1000

// Errors of a Ledger.
var (
	// ErrInsufficient: the available balance does not cover the amount.
	ErrInsufficient = errors.New("billing: insufficient credits")
	// ErrResolved: the reservation was already resolved the other way.
	ErrResolved = errors.New("billing: reservation already resolved")
	// ErrNotFound: no such reservation.
	ErrNotFound = errors.New("billing: reservation not found")
	// ErrAmount: the amount is not allowed, such as a negative reservation.
	ErrAmount = errors.New("billing: amount not allowed")
)

// Kind says what an entry is for.
type Kind string

// Kinds of entries.
const (
	KindRequest Kind = "request"
	KindMonitor Kind = "monitor"
	KindRule    Kind = "rule"
	KindTopUp   Kind = "top_up"
)

// Entry is one line of the ledger.
type Entry struct {
	ID    string // unique; the same id again changes nothing
	Owner string
	Kind  Kind
	// Amount changes the balance: negative for a charge, positive for a top-up.
	Amount Credits
	At     time.Time

	SourceID    string // the monitor or rule, when Kind says so
	SourceName  string
	Endpoint    string // the request's endpoint, when Kind says so
	NumAccounts int
	TierLabel   string
	Rate        Credits // per account and day

	// Balance is the available balance after this entry. The ledger sets it.
	Balance Credits
}

// Reservation holds an amount back until it is committed, released or expires.
type Reservation struct {
	ID        string
	Owner     string
	Amount    Credits // ≥ 0
	ExpiresAt time.Time
}

// Balance is what an owner has.
type Balance struct {
	Available Credits // can be spent now
	Reserved  Credits // held by open reservations
}

// EntryQuery selects entries of one owner.
type EntryQuery struct {
	Owner    string
	SourceID string // "" for all
	Asc      bool   // oldest first; newest first by default
	Page     int    // from 1; 0 means 1
	PageSize int    // 0 means 20
}

// EntryPage is one page of entries.
type EntryPage struct {
	Entries []Entry
	Total   int
}

// Ledger keeps the balances. Every method is safe for concurrent use, is all
// or nothing, and idempotent by id, so that a caller that got no answer simply
// asks again. No balance is ever below zero.
type Ledger interface {
	// Reserve holds r.Amount back. ErrInsufficient when the available balance
	// does not cover it. The same id again is a no-op while it is open, and
	// ErrResolved afterwards.
	Reserve(ctx context.Context, r Reservation) error
	// Commit turns a reservation into a charge: e with the reservation's id,
	// owner and amount. Again: no-op. After Release or expiry: ErrResolved.
	Commit(ctx context.Context, id string, e Entry) error
	// Release gives a reservation back. Again: no-op. After Commit: ErrResolved.
	Release(ctx context.Context, id string) error
	// Append adds entries in order, all or none. An id already known is
	// skipped. ErrInsufficient when a charge is not covered.
	Append(ctx context.Context, entries ...Entry) error
	// Balance of an owner; zero for one never seen.
	Balance(ctx context.Context, owner string) (Balance, error)
	// Entries pages through an owner's lines.
	Entries(ctx context.Context, q EntryQuery) (EntryPage, error)
}
