package storage

import (
	"context"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/record"
)

// Store is a backend. These rules apply to every method of every port.
//
// Outcome: a call takes effect whole or not at all. Once it has returned nil, every call that
// begins later sees its effect. The errors that the ports name, possibly wrapped, mean that nothing
// was changed. After any other error, for example a broken connection, either nothing or everything
// was done. The caller then tries again, which is harmless because of the ids.
//
// Context: if the context has ended before the call, the call returns ctx.Err() and changes
// nothing. If it ends during the call, a store may also return ctx.Err(). The change may have been
// made if the store was then writing it to its disk or server.
//
// Values: a store keeps the values that it is given, and checks them only where a port says so.
// Text is any UTF-8, including NUL. It is compared byte by byte, without patterns or trimming. Keys
// made of two texts must stay distinct ("a:b", "c" and "a", "b:c"). There must be room for ids,
// names and URLs of 1 KiB, other text of 64 KiB, and an Event.Body of 1 MiB of any bytes. An
// instant is kept to the microsecond, even before 1970 and in 2200, but its zone may change; the
// zero time stays the zero time. Durations are kept to the microsecond. A nil slice and an empty
// one are the same, in records and in answers.
//
// Memory: the store shares no memory with the records passed in or out, except those
// declared read-only: Event.Body, and the Event of a Delivery.
//
// Clock: the store has a clock, usually time.Now or that of its server, for Event.CommittedAt, Delivery.CreatedAt, expiry
// and retention. The order of records never depends on it: those made first come first, even if the
// clock is set back.
//
// Errors reveal no secrets: they do not print a Secret or a whole record.
type Store interface {
	// Ports returns the ports. It is cheap, and may be called at any time, concurrently and after
	// Close.
	Ports() Ports
	// Close ends the backend. Calls in progress may finish until ctx ends; later calls return an
	// error of the store's choice. Each call either fails, or is done and its effect kept. Close
	// returns nil if all calls finished before ctx ended. The code that opened the store calls
	// Close, once.
	Close(ctx context.Context) error
}

// Ports are the ports of a store. To wrap one, replace its field.
type Ports struct {
	Records record.Store
	State   record.State
	Journal detect.Journal
	Outbox  deliver.Outbox
	Log     deliver.Log
	Replays deliver.Replays
	Ledger  billing.Ledger
	// Now is the store's clock, for the nodes of a fleet, whose own clocks may differ. It makes no
	// call. Nil in a store that only one engine may use.
	Now func() time.Time
	// Members and Signals are nil in a store that only one engine may use: see package fleet. With
	// them Journal.Commit observes Batch.Fence and Batch.Lanes, and Outbox observes
	// ClaimRequest.Parts and the parts of NextDue.
	Members fleet.Members
	Signals fleet.Signals
	// Sweeper is nil in a store that cannot forget an owner.
	Sweeper Sweeper
}
