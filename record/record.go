package record

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// Kind is the kind of a record.
type Kind string

// Kinds of records. Owner appears in the feed alone: see Gone.
const (
	Monitor  Kind = "monitor"
	Rule     Kind = "rule"
	Endpoint Kind = "endpoint"
	APIKey   Kind = "key"
	Owner    Kind = "owner"
)

// Key names a record. No two records of a kind have the same ID, whoever owns them.
type Key struct {
	Kind Kind
	ID   string
}

// IsZero reports whether the key names no record.
func (k Key) IsZero() bool { return k == Key{} }

// Ref names a version of an owner's record. Version 0 means any version.
type Ref struct {
	Key
	Owner   string
	Version int64
}

// Record is what a store keeps. The owner "" is an owner like any other.
type Record struct {
	Key
	Owner string
	// Parent is the monitor or rule of an endpoint, zero for other kinds.
	Parent Key
	// Name is unique among the records with the same Owner, Kind and Parent, unless it is "".
	Name string
	// Lookup is unique among all records of the kind, unless it is "". Find finds the record
	// by it.
	Lookup string
	Status string
	Size   int64 // of a monitor: the number of accounts
	Price  int64 // in thousandths of a credit a day
	// Version is 1 after the record is created, and one more after each Put. The store sets it.
	Version              int64
	CreatedAt, UpdatedAt time.Time
	Data                 []byte // the fields of the kind, up to 1 MiB
	Note                 string // set by Change.Notes alone
}

// Ref returns a reference to this version of the record.
func (r *Record) Ref() Ref { return Ref{Key: r.Key, Owner: r.Owner, Version: r.Version} }

// Store keeps records. Every method is atomic and safe for concurrent use; storage.Store has
// the rules for all ports.
type Store interface {
	// Get returns a record, or ErrNotFound if there is none or another owner has it.
	Get(ctx context.Context, owner string, k Key) (Record, error)
	// Find returns the record of the kind with this Lookup, or ErrNotFound.
	Find(ctx context.Context, k Kind, lookup string) (Record, error)
	// List returns a page of an owner's records in the order of their creation, which updates
	// do not change, and the number of all that match.
	List(ctx context.Context, q Query) (list []Record, total int, err error)
	// Scan calls fn for every record of a kind, in the order of creation, until fn returns an
	// error, which Scan returns. A record that exists for the whole time of the call comes
	// exactly once. fn must not call the store.
	Scan(ctx context.Context, k Kind, fn func(Record) error) error
	// Apply makes a change whole or not at all. It adds an entry to the feed for each record
	// that was deleted or put, in that order and that of Change, and for Gone, and returns the
	// number of the last entry, 0 if there was none. An error about a record is an *Error, one of a limit a *LimitError.
	Apply(ctx context.Context, c Change) (feed uint64, err error)
	// Since returns up to limit entries with numbers above after, in order, and the number of
	// the last entry of all. It returns ErrTooOld, also with the last number, if entries
	// above after are no longer kept, or if after is above the last number. Then call
	// Scan, and continue after that number. The store keeps at least 10,000 entries.
	Since(ctx context.Context, after uint64, limit int) (list []Entry, last uint64, err error)
}

// Query selects records of an owner.
type Query struct {
	Owner  string
	Kind   Kind
	Parent Key    // zero for any
	Name   string // "" for any; with a name, the zero Parent means none
	Status string // "" for any
	Offset int
	Limit  int // 0 asks for the total alone
}

// MaxChange is the maximum number of records in a Change: those put, deleted and noted.
const MaxChange = 100

// Change is a transaction. If it cannot be made, its error is the first of these that
// applies: ErrGone; ErrNotFound or ErrConflict of Delete, Put and Need; ErrDuplicate; a
// *LimitError.
type Change struct {
	// Delete is done first: the names of deleted records are free for Put, whose names are judged
	// when all is put: two records may swap theirs. The children of a record, of the same Owner,
	// are deleted with it, and so is the total of a monitor or rule in the ledger.
	// The replay of an endpoint ends and its open deliveries fail with EndpointDeleted; a
	// store may end those in steps after Apply if none can be claimed any more.
	Delete []Ref
	// Put creates records, those with Version 0, or replaces the given Version. Owner, Parent,
	// CreatedAt and Note of a replaced record stay as they are. An endpoint with the Status
	// "active" receives what Journal.Commit records for its Parent from now on.
	Put []Record
	// Need names records that must exist after the change, such as the parent of an endpoint.
	Need []Ref
	// Limits are checked after Delete and Put.
	Limits []Limit
	// Notes are set last, and make neither a new Version nor an entry in the feed. A note is
	// dropped if its record does not exist or has another Version.
	Notes []Note
	// Gone refuses changes for an owner, or ends that. Nil for neither.
	Gone *Gone
}

// Validate returns an error that wraps ErrInvalid if the change has more than MaxChange records, a
// record without a kind or an ID, or a record that it puts twice. Apply calls it before it changes
// anything.
func (c *Change) Validate() error {
	if n := len(c.Delete) + len(c.Put) + len(c.Notes); n > MaxChange {
		return fmt.Errorf("%w: %d records, want at most %d", ErrInvalid, n, MaxChange)
	}
	put := make(map[Key]bool, len(c.Put))
	for i := range c.Put {
		k := c.Put[i].Key
		if put[k] {
			return fmt.Errorf("%w: %s %q is put twice", ErrInvalid, k.Kind, k.ID)
		}
		put[k] = true
		if err := k.validate(); err != nil {
			return err
		}
	}
	for _, refs := range [][]Ref{c.Delete, c.Need} {
		for i := range refs {
			if err := refs[i].validate(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (k Key) validate() error {
	if k.Kind == "" || k.ID == "" {
		return fmt.Errorf("%w: a record of kind %q with the id %q, want both", ErrInvalid, k.Kind, k.ID)
	}
	return nil
}

// Limit is the maximum of a sum over records of an owner.
type Limit struct {
	Owner  string
	Kinds  []Kind // counted together
	Parent Key    // zero for any
	Status string // "" for any
	Of     Measure
	Max    int64 // 0 allows none
}

// Measure is what a Limit adds up.
type Measure uint8

// Measures of a Limit.
const (
	Count Measure = iota // the number of records
	Size                 // Record.Size
	Price                // Record.Price
)

// Note is a text about this version of a record, such as the reason for its status.
type Note struct {
	Ref
	Text string
}

// Gone makes the store refuse an owner until a time of the store's clock. Until then Apply
// with Put for the owner and State.Swap with a ttl return ErrGone, and Journal.Commit drops
// the owner's events (Seq 0, and the ids stay unknown) and charges (which are not in Unpaid). The
// zero time ends it. What a store keeps of it has OwnerID in place of the name.
type Gone struct {
	Owner string
	Until time.Time
}

// OwnerID identifies an owner without the name: the first 16 bytes of its SHA-256, in hexadecimal
// digits.
func OwnerID(owner string) string {
	sum := sha256.Sum256([]byte(owner))
	return hex.EncodeToString(sum[:16])
}

// Entry in the feed says that a record was put or deleted. For Gone it has the Kind Owner, the
// OwnerID as ID, and no Owner.
type Entry struct {
	N uint64 // 1, 2, 3 … in the order of the commits
	Key
	Owner string
}
