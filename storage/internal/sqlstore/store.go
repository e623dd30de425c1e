package sqlstore

import (
	"context"
	"math"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/storage"
)

// Store implements the ports on a backend, but for those of a fleet.
type Store struct {
	Backend
	Dialect
	Name      string // of the backend's package, in errors
	Now       func() time.Time
	Retention time.Duration
	// DeliveryEpoch is part of the ids of deliveries: see deliver.DeliveryIDInEpoch.
	DeliveryEpoch uint64
	// Refuse is returned by Journal.Commit, Outbox.Claim and Replays.Step, if it is not nil.
	Refuse error
}

// Backend runs transactions. Its methods wrap the driver's errors.
type Backend interface {
	// Write runs do in a transaction, and returns when that is committed. It may run do again after
	// a conflict with another transaction.
	Write(ctx context.Context, do func(Tx) error) error
	// Read runs do, which makes one query. It may run do again.
	Read(ctx context.Context, do func(Querier) error) error
	// Search runs do, which may take long, on the committed state of one moment. It may run do again.
	Search(ctx context.Context, do func(Querier) error) error
	// Duplicate reports whether err is that a row has the same unique key as another.
	Duplicate(err error) bool
	// LockOwners excludes other transactions that change what the owners have.
	LockOwners(t Tx, owners ...string) error
	// NumberEvents asks for so many new events.n, in order. They are there after t.Flush.
	NumberEvents(t Tx, count int, to *[]int64) error
	// Fence refuses a commit as Batch.Fence says.
	Fence(t Tx, batches []*detect.Batch) error
}

// Dialect has what differs in the backends' SQL. A statement that is "" is not made.
type Dialect struct {
	// Statements that lock rows until the transaction ends: the deliveries with the ids in a Texts,
	// the open deliveries of an endpoint, and the next events of an owner above a number up to
	// another. Whoever has locked one delivery of an event may also change what says that the event
	// has no open one.
	LockDeliveries, LockEndpoint, LockReplayed string
	// Settling selects all columns of deliveries with ids in {rows text}, and locks them as
	// LockDeliveries does.
	Settling string
	// SkipLocked ends a query that locks its rows and leaves out those that others have locked.
	SkipLocked string
	// FirstDue begins a query for the numbers of deliveries d among the first %d that are due at ?1.
	FirstDue string
	// ClaimLanes replaces the query claimLanes. Empty means that query.
	ClaimLanes string
	// Feed selects the number of the last entry in the feed after as many more as its argument says.
	Feed string
	// Epoch is SQL for the epoch of the numbers: see deliver.Log.
	Epoch string
	// Dropping is made before as many events as its argument says are removed.
	Dropping string
	// Removable selects events for Remove: of the first ones without an open delivery, up to its
	// first argument, those beyond as many stored ones as the second says, and those that have had
	// none since the third or longer.
	Removable string
	// CountByEvent says that deliveries are counted for one event after the other.
	CountByEvent bool
	// NextDueIn selects the first due time of the parts in an Ints.
	NextDueIn string
	// Lanes says that deliveries have a column part, and are shared between engines.
	Lanes bool
	// Totals returns a query for the index in sources, and the total, of those that have one.
	Totals func(sources []billing.Source) (query string, args []any)
	// RetainedOfAll replaces the condition retained in a query that reads all events of an owner.
	RetainedOfAll func(event, expired string) string
}

// partsList returns a set of parts as an argument of a query.
func partsList(set *fleet.Set) (list Ints) {
	for p := range set.All() {
		list = append(list, int64(p))
	}
	return list
}

// Ports returns the ports, those of a fleet left out.
func (s *Store) Ports() storage.Ports {
	return storage.Ports{Records: recordStore{s}, State: stateStore{s}, Journal: journal{s}, Outbox: outbox{s}, Log: deliveryLog{s},
		Replays: replays{s}, Ledger: ledger{s}, Sweeper: s}
}

// pageBounds converts a page number, counted from 1, and a page size to LIMIT and OFFSET. A zero
// page means 1, a zero size means 20.
func pageBounds(page, size int) (limit, offset int64) {
	page, size = max(page, 1), max(size, 0)
	if size == 0 {
		size = 20
	}
	if int64(page-1) > math.MaxInt64/int64(size) { // the product below would overflow
		return int64(size), math.MaxInt64
	}
	return int64(size), int64(page-1) * int64(size)
}

// sorted returns the SQL for the order of a page, and the operator that selects the rows after one.
func sorted(asc bool) (way, beyond string) {
	if asc {
		return "ASC", ">"
	}
	return "DESC", "<"
}
