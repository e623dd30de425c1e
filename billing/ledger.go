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
	// ErrResolved: the reservation was already resolved the other way.
	ErrResolved = errors.New("billing: reservation already resolved")
	// ErrNotFound: no such reservation.
	ErrNotFound = errors.New("billing: reservation not found")
	// ErrAmount: the amount is not allowed: a negative reservation, or more
	// than a balance can count.
	ErrAmount = errors.New("billing: amount not allowed")
	// ErrCursor: EntryQuery.Cursor is not the Next of a page.
	ErrCursor = errors.New("billing: cursor not allowed: want the Next of a page of the same query")
)

// FieldError reports a field whose value is not allowed.
type FieldError = invalid.FieldError

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
	ID    string // unique over all owners; the same id again changes nothing
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

	// Balance is what the owner has after this entry, in the order of the ledger:
	// the sum of the entries up to it. Open reservations are not subtracted. The
	// ledger sets it, whatever the caller had there.
	Balance Credits
}

// Validate reports an entry without ID as a *FieldError. Stores call it before
// they make an entry of Ledger.Append or of a commit's charges.
func (e *Entry) Validate() error {
	if e.ID == "" {
		return invalid.Field("billing", "Entry.ID", "", "the id of the entry")
	}
	return nil
}

// Source is a stream that entries are for: a monitor or a rule.
type Source struct {
	Owner string
	Kind  Kind   // KindMonitor or KindRule
	ID    string // Entry.SourceID
}

// Source returns the stream to whose total in Ledger.Totals the entry is added. It reports
// false for an entry of another kind than KindMonitor and KindRule, or without SourceID.
func (e *Entry) Source() (Source, bool) {
	s := Source{Owner: e.Owner, Kind: e.Kind, ID: e.SourceID}
	return s, s.ID != "" && (s.Kind == KindMonitor || s.Kind == KindRule)
}

// AddTotal returns total + amount, or the largest or smallest int64 if the sum is beyond it. A
// Ledger adds to totals with it.
func AddTotal(total, amount Credits) Credits {
	switch {
	case amount > 0 && total > math.MaxInt64-amount:
		return math.MaxInt64
	case amount < 0 && total < math.MinInt64-amount:
		return math.MinInt64
	}
	return total + amount
}

// Reservation holds an amount back until it is committed, released or expires.
type Reservation struct {
	ID     string // unique over all owners and entries
	Owner  string
	Amount Credits // ≥ 0
	// ExpiresAt is when the reservation ends as by Release, by the store's clock: from
	// that moment on every balance and every charge has its amount again. Zero means that
	// it does not expire.
	ExpiresAt time.Time
}

// Validate reports a reservation without ID as a *FieldError, and one of a
// negative amount as ErrAmount. Stores call it in Ledger.Reserve.
func (r *Reservation) Validate() error {
	switch {
	case r.ID == "":
		return invalid.Field("billing", "Reservation.ID", "", "the id of the reservation")
	case r.Amount < 0:
		return ErrAmount
	}
	return nil
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
	// Since and Until select by an entry's At: at Since or later and before
	// Until. The zero time is no bound.
	Since, Until time.Time
	// Cursor, the Next of a page of the same query, asks for the entries after that page,
	// whatever was added or removed meanwhile. Page is then ignored. PageSize may differ.
	// Any other text is refused with ErrCursor.
	Cursor   string
	Asc      bool // oldest first; newest first by default
	Page     int  // from 1; 0 means 1; empty beyond the last
	PageSize int  // 0 means 20
	// NoTotal allows EntryPage.Total to be 0, as a store may take long to count.
	NoTotal bool
}

// EntryPage is one page of entries.
type EntryPage struct {
	Entries []Entry
	Total   int // entries of all pages
	// Next is the Cursor for the next page, "" after the last entry or if the page is
	// empty. Its form is up to the ledger, in at most 4,096 bytes. It stays valid, also
	// when entries of this page are removed.
	Next string
}

// Ledger keeps the balances. Every method is safe for concurrent use, does all or nothing,
// and is idempotent by id, so that a caller that got no answer may repeat the call;
// storage.Store has the rules for all ports. If Entry.Validate or Reservation.Validate
// returns an error, the call fails with that error.
//
// No balance is ever below zero, and an owner's available and reserved credits
// together never exceed an int64. The sum of an owner's entries is what is
// available and reserved, also when old entries have been removed. The ids of removed
// entries and of resolved reservations stay known.
type Ledger interface {
	// Reserve holds r.Amount back. It returns the first of these that applies:
	//
	//  1. the error of r.Validate;
	//  2. nil, without a change, if a reservation with the id is open, whatever its owner,
	//     amount and ExpiresAt, and whatever the balance;
	//  3. ErrResolved if a reservation with the id has ended, or an entry has the id;
	//  4. ErrInsufficient if the available balance does not cover the amount.
	//
	// After an error, an id that was free is still free.
	Reserve(ctx context.Context, r Reservation) error
	// Commit turns a reservation into a charge: the entry e, with the reservation's id
	// and owner and minus its amount in place of those of e. If Append has made an entry
	// with that id meanwhile, the reservation ends and nothing more is charged. After a
	// Commit of the same id it does nothing; after Release or expiry it returns
	// ErrResolved. It returns ErrNotFound if there is no such reservation, also if an
	// entry has the id.
	Commit(ctx context.Context, id string, e Entry) error
	// Release gives a reservation back. After a Release of the same id, or after expiry,
	// it does nothing; after Commit it returns ErrResolved. It returns ErrNotFound if
	// there is no such reservation.
	Release(ctx context.Context, id string) error
	// Append adds entries in order, all or none, also those with an amount of 0. It skips
	// an entry whose id is known, whatever its owner and amount, or occurs earlier in the
	// call. It returns ErrInsufficient if the credits that are available in its turn do not
	// cover a charge, and ErrAmount if a balance would exceed an int64. No entry of another
	// call comes between those of one call.
	Append(ctx context.Context, entries ...Entry) error
	// Balance returns an owner's balance, zero for an unknown owner.
	Balance(ctx context.Context, owner string) (Balance, error)
	// Entries returns one page of an owner's entries in the order in which they were
	// made, whatever their At, the last first unless q.Asc.
	Entries(ctx context.Context, q EntryQuery) (EntryPage, error)
	// Totals returns, for each of the sources in turn, the sum of the amounts of all
	// entries ever made for it, below zero for charges; 0 for one without entries. A
	// source may occur twice. The sums are of one moment, and are read in one call.
	//
	// A total changes in the transaction that makes the entry (see Entry.Source and
	// AddTotal), and stays when entries are removed by retention. It is removed when
	// the monitor or rule is deleted from the same store, in that transaction. So a
	// store has one for each monitor or rule that was charged, and one for each that
	// was charged after its deletion, as by a Meter's tick that was under way.
	Totals(ctx context.Context, sources ...Source) ([]Credits, error)
}
