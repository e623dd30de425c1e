package billing

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Credits is an amount in thousandths of a credit.
type Credits int64

// Credit is one whole credit.
const Credit Credits = 1000

// Errors of a Ledger.
var (
	// ErrInsufficient: the available balance does not cover the amount.
	ErrInsufficient = errors.New("billing: insufficient credits")
	// ErrResolved: the reservation has ended: it was committed, released or expired.
	ErrResolved = errors.New("billing: reservation already resolved")
	// ErrNotFound: no such reservation.
	ErrNotFound = errors.New("billing: reservation not found")
	// ErrAmount: the amount of a reservation is negative, or a balance would exceed an int64.
	ErrAmount = errors.New("billing: amount not allowed")
	// ErrCursor: EntryQuery.Cursor is not the Next of a page.
	ErrCursor = errors.New("billing: cursor not allowed: want the Next of a page of the same query")
)

// FieldError reports a field with a value that is not allowed.
type FieldError = invalid.FieldError

// Kind tells what an entry charges for, or that it is a top-up.
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
	ID    string // unique over all owners; an entry with a known id changes nothing
	Owner string
	Kind  Kind
	// Amount is added to the balance: negative for a charge, positive for a top-up, or negative for
	// one that is taken back.
	Amount Credits
	At     time.Time

	SourceID    string // id of the monitor or rule, for KindMonitor and KindRule
	SourceName  string
	Endpoint    string // for KindRequest
	NumAccounts int
	TierLabel   string
	Rate        Credits // per account and day

	// Balance is the sum of the owner's entries up to and including this one, in the order of the
	// ledger. Open reservations are not subtracted. The ledger sets Balance and ignores the
	// caller's value.
	Balance Credits
}

// Validate returns a *FieldError if the entry has no ID. Stores call it before they
// append an entry.
func (e *Entry) Validate() error {
	if e.ID == "" {
		return invalid.Field("billing", "Entry.ID", "", "the id of the entry")
	}
	return nil
}

// Source identifies a stream that is charged: a monitor or a rule.
type Source struct {
	Owner string
	Kind  Kind   // KindMonitor or KindRule
	ID    string // Entry.SourceID
}

// Source returns the stream that the entry is for. Ledger.Totals adds up entries by Source. It
// reports false if the Kind is not KindMonitor or KindRule, or if SourceID is "".
func (e *Entry) Source() (Source, bool) {
	s := Source{Owner: e.Owner, Kind: e.Kind, ID: e.SourceID}
	return s, s.ID != "" && (s.Kind == KindMonitor || s.Kind == KindRule)
}

// AddTotal returns total + amount, or the largest or smallest int64 if the sum would
// overflow. A Ledger uses it for Totals.
func AddTotal(total, amount Credits) Credits {
	switch {
	case amount > 0 && total > math.MaxInt64-amount:
		return math.MaxInt64
	case amount < 0 && total < math.MinInt64-amount:
		return math.MinInt64
	}
	return total + amount
}

// Reservation keeps an amount from being spent until the reservation is committed, is released or
// expires.
type Reservation struct {
	ID     string // unique over all owners and entries
	Owner  string
	Amount Credits // ≥ 0
	// ExpiresAt is when the reservation ends by itself, by the store's clock. From then on the
	// amount is available again. Zero means that the reservation does not expire.
	ExpiresAt time.Time
}

// Validate returns a *FieldError if the reservation has no ID, and ErrAmount if its
// amount is negative. Stores call it in Ledger.Reserve.
func (r *Reservation) Validate() error {
	switch {
	case r.ID == "":
		return invalid.Field("billing", "Reservation.ID", "", "the id of the reservation")
	case r.Amount < 0:
		return ErrAmount
	}
	return nil
}

// Balance is an owner's credits.
type Balance struct {
	Available Credits // can be spent now
	Reserved  Credits // held by open reservations
}

// EntryQuery selects entries of one owner.
type EntryQuery struct {
	Owner    string
	SourceID string // "" for all
	// Since and Until select entries with an At from Since on and before Until. The zero
	// time is no bound.
	Since, Until time.Time
	// Cursor is the Next of an earlier page of the same query, or "". It selects the entries
	// after that page, even if entries were added or removed since then. With a Cursor, Page is
	// ignored, and PageSize may differ. For any other text, Entries returns ErrCursor.
	Cursor   string
	Asc      bool // oldest first; newest first by default
	Page     int  // from 1; 0 means 1; empty beyond the last
	PageSize int  // 0 means 20
	// NoTotal allows a store to leave EntryPage.Total at 0. Counting entries may take long.
	NoTotal bool
}

// EntryPage is one page of entries.
type EntryPage struct {
	Entries []Entry
	Total   int // number of entries on all pages
	// Next is the Cursor for the next page, "" after the last entry or if the page is
	// empty. It has at most 4,096 bytes, in a form that the ledger chooses. It stays
	// valid even if entries of this page are removed.
	Next string
}

// Ledger keeps the balances. Every method is safe for concurrent use, does all or nothing, and is
// idempotent by id: a caller that got no answer may repeat the call. The requirements of
// storage.Store for all ports apply as well. If Entry.Validate or Reservation.Validate returns an
// error, the call fails with that error.
//
// No balance is ever below zero. An owner's available and reserved credits together are the sum
// of the owner's entries, including old entries that have been removed, and never exceed an
// int64. The ledger keeps the ids of removed entries and of ended reservations.
type Ledger interface {
	// Reserve reserves r.Amount. It returns the first of these results that applies:
	//
	//  1. the error of r.Validate;
	//  2. nil, without a change, if a reservation with the id is open, even with another
	//     owner, amount or ExpiresAt;
	//  3. ErrResolved if a reservation with the id has ended, or an entry has the id;
	//  4. ErrInsufficient if the available balance does not cover the amount.
	//
	// After an error, an unused id can still be used.
	Reserve(ctx context.Context, r Reservation) error
	// Commit turns a reservation into a charge. It appends e with the id and owner of the
	// reservation and its negated amount. If an entry with that id exists already, Commit only
	// ends the reservation. A second Commit of the same id does nothing. After Release or expiry,
	// Commit returns ErrResolved. If there is no such reservation, it returns ErrNotFound, even
	// if an entry has the id.
	Commit(ctx context.Context, id string, e Entry) error
	// Release ends a reservation and makes its amount available again. After Release or expiry of
	// the same id, it does nothing. After Commit it returns ErrResolved. If there is no such
	// reservation, it returns ErrNotFound.
	Release(ctx context.Context, id string) error
	// Append adds entries in order, all or none, including entries with an amount of 0. It skips
	// an entry with a known id, even of another owner or amount, and an entry with the id of an
	// earlier one in the call. It returns ErrInsufficient if the credits available after the
	// entries before do not cover a charge, and ErrAmount if a balance would exceed an int64. No
	// entries of other calls come between the entries of one call.
	Append(ctx context.Context, entries ...Entry) error
	// Balance returns an owner's balance, zero for an unknown owner.
	Balance(ctx context.Context, owner string) (Balance, error)
	// Entries returns one page of an owner's entries. The entry added last comes first or, if
	// q.Asc is set, the entry added first. At does not affect the order.
	Entries(ctx context.Context, q EntryQuery) (EntryPage, error)
	// Totals returns, for each source in order, the sum of the amounts of all entries ever added
	// for it. The sum is negative for charges, and 0 without entries. A source may occur twice.
	// All sums are as of the same moment.
	//
	// The transaction that adds an entry also changes the total (see Entry.Source and AddTotal).
	// Retention removes entries, but does not change totals. The transaction that deletes a
	// monitor or rule from the same store removes its total. A later charge, for example by a
	// Meter's tick that was under way, starts a new total.
	Totals(ctx context.Context, sources ...Source) ([]Credits, error)
}
