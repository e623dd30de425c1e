package transfer

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/record"
)

// Part is a kind of rows. They are copied in this order.
type Part int

// Parts, with the type of their rows.
const (
	Records        Part = iota // *record.Record, of a kind in the order of creation
	Feed                       // *record.Entry
	Gone                       // *Refused
	Values                     // *Value
	Cursors                    // *detect.Cursor
	Events                     // *Event, about in the order of their commits
	Settled                    // *Final, the first to be removed first
	Replays                    // *deliver.Replay
	Owners                     // *Owner
	Entries                    // *Entry, in the order of the ledger
	Totals                     // *Total
	Reservations               // *billing.Reservation
	RemovedEvents              // *Known; of these three the first to be forgotten first
	RemovedEntries             // *Known
	Resolved                   // *Known
	Counters                   // *Numbers, one row
	parts
)

var partNames = [parts]string{"records", "feed", "owners refused", "values", "cursors", "events", "events without open deliveries", "replays",
	"owners", "ledger entries", "totals", "reservations", "removed events", "removed entries", "resolved reservations", "counters"}

// String returns the name of a part for people.
func (p Part) String() string {
	if p < 0 || p >= parts {
		return "check"
	}
	return partNames[p]
}

// Refused is an owner that is refused: see record.Gone.
type Refused struct {
	OwnerID string
	Until   time.Time
}

// Value is a value of record.State.
type Value struct {
	record.Name
	record.Value
	Expires time.Time // zero for never
}

// Event is an event with its deliveries, in their order. Their Event and CreatedAt are not set.
type Event struct {
	deliver.Event
	Deliveries []deliver.LogEntry
}

// Final says since when an event has no open delivery.
type Final struct {
	Owner string
	Seq   uint64
	At    time.Time
}

// Owner is what a store keeps of an owner for ever.
type Owner struct {
	Owner string
	billing.Balance
	Last uint64 // number of the owner's last event
}

// Entry is a ledger entry.
type Entry struct {
	billing.Entry
	Recorded time.Time // its retention counts from here
}

// Total is the sum of the entries of a source.
type Total struct {
	billing.Source
	Total billing.Credits
}

// Known is an id that is remembered since a time. Outcome is how a reservation ended.
type Known struct {
	ID       string
	Recorded time.Time
	Outcome  string
}

// Outcomes.
const (
	Committed = "committed"
	GivenBack = "given back" // released or expired
)

// Numbers are what a store counts besides.
type Numbers struct {
	FeedEnd       uint64 // number of the last entry of the feed
	Version       uint64 // last version given to a value
	Erased        uint64 // greatest number of an event of any owner that was erased
	Epoch         uint64 // of the numbers of events: see deliver.Log
	DeliveryEpoch uint64 // of the ids of deliveries: see deliver.DeliveryIDInEpoch
}

// Bounds of a page. A page may have one row more than the bytes allow, and an event has all of its
// deliveries.
const (
	PageRows  = 500
	PageBytes = 4 << 20
)

// Place is where a copy goes on: in a part after the row that After names, from the beginning if it
// is "". What After says is the source's.
type Place struct {
	Part  Part
	After string
}

// Store is a source or a target of a copy.
type Store interface {
	// Where says which store it is, without a password. A target remembers that of its source.
	Where() string
	// Read returns the next rows of a part. last means that no others follow.
	Read(ctx context.Context, from Place) (rows []any, next string, last bool, err error)
	// Begin makes an empty store the target of a copy, or returns where an unfinished copy of the
	// same source goes on. It returns ErrNotEmpty or ErrOther for other stores.
	Begin(ctx context.Context, source string) (Place, error)
	// Write writes rows of a part and where the copy goes on, together.
	Write(ctx context.Context, part Part, rows []any, next Place) error
	// Finish makes the target a store that can be opened.
	Finish(ctx context.Context) error
	Close(ctx context.Context) error
}

// Use is what a store is opened for.
type Use int

// Uses. The zero value is that of an engine.
const (
	Source Use = 1 + iota
	Target
)

// CheckStopped returns ErrUsed if a term of a fleet has a lease.
func CheckStopped(ctx context.Context, m fleet.Members) error {
	state, err := m.Look(ctx)
	for i := range state.Members {
		if err == nil && !state.Members[i].Over {
			err = fmt.Errorf("%w: node %q", ErrUsed, state.Members[i].Node.Name)
		}
	}
	return err
}

// Errors of stores. They are wrapped with what they are about.
var (
	// ErrNotEmpty means that a target has data.
	ErrNotEmpty = errors.New("not empty: want a new store for the copy")
	// ErrOther means that a target has an unfinished copy of another source.
	ErrOther = errors.New("unfinished copy of another store: go on with that, or remove it")
	// ErrUsed means that engines share the store at this moment.
	ErrUsed = errors.New("in use: want all engines stopped; one that died counts until its lease is over")
	// ErrMoved means that another process goes on with the same copy.
	ErrMoved = errors.New("another copy goes on with it")
	// ErrMissing means that there is no store to copy.
	ErrMissing = errors.New("no store to copy")
)

// Unfinished ends the errors with which a store refuses to open the target of a copy.
const Unfinished = "an unfinished copy: run streamwatch copy again, or remove it"

// JoinKey returns texts and numbers as Place.After.
func JoinKey(key ...any) (after string) {
	for _, k := range key {
		after += strconv.Quote(fmt.Sprint(k))
	}
	return after
}

// CutKey returns the texts of JoinKey.
func CutKey(after string) (key []string, err error) {
	for after != "" {
		quoted, err := strconv.QuotedPrefix(after)
		if err != nil {
			return nil, fmt.Errorf("transfer: damaged place of a copy: %q", after)
		}
		text, _ := strconv.Unquote(quoted)
		key, after = append(key, text), after[len(quoted):]
	}
	return key, nil
}
