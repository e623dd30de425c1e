package storage

import (
	"context"

	"github.com/streamwatch/streamwatch/apikey"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/monitor"
	"github.com/streamwatch/streamwatch/rule"
)

// Store is a backend. The accessors are cheap, never return nil, and may be called at any
// time, concurrently and after Close.
//
// These rules apply to every method of every role.
//
// Outcome: a call takes effect whole or not at all. Once it has returned nil, every call
// that begins later sees its effect. The errors that the ports name, possibly wrapped, mean
// that nothing was changed. Any other error, such as a broken connection, means that
// either nothing was done, or all of it and the answer was lost. The caller then tries
// again; the ids make that harmless.
//
// Context: if it has ended before the call, the call returns ctx.Err() and changes nothing.
// A store may also return ctx.Err() if the context ends during the call. If it was writing
// the change to its disk or server at that moment, the change may have been made.
//
// Values: a store keeps the values it is given, and checks them only where a port says so.
// Text is any UTF-8, including NUL, and is compared byte by byte, without patterns or
// trimming. Keys made of two texts must stay distinct ("a:b", "c" and "a", "b:c"). Ids,
// names and URLs of 1 KiB, other text of 64 KiB and an Event.Body of 1 MiB of any bytes
// must fit. An instant is kept to the microsecond, also before 1970 and in 2200, while its
// zone may change; the zero time stays the zero time. Durations are kept to the
// microsecond. A nil slice and an empty one are the same, in records and in answers.
//
// Memory: the store shares no memory with the records passed in or out, except those
// declared read-only: Event.Body, and the Event of a Delivery.
//
// Clock: the store has one, usually time.Now, for Event.CommittedAt, Delivery.CreatedAt,
// expiry and retention. Order never depends on it: records made first come first, even when
// the clock steps back.
//
// Errors reveal no secrets: they do not print a Secret or a whole record.
type Store interface {
	Monitors() monitor.Store
	Rules() rule.Store
	Endpoints() deliver.EndpointStore
	Journal() detect.Journal
	Outbox() deliver.Outbox
	Log() deliver.Log
	Replays() deliver.Replays
	Ledger() billing.Ledger
	// Close ends the backend. Calls in progress may finish until ctx ends; later ones return
	// an error of the store's choice. Each call either fails or is done and kept. Close
	// returns nil if all calls finished before ctx ended. Whoever opened the store calls it,
	// once.
	Close(ctx context.Context) error
}

// Keyed is implemented by a Store that also keeps a service's API keys, and the answers to
// requests that clients may repeat. The rules in the doc comment of Store apply to these
// roles, too.
type Keyed interface {
	Keys() apikey.Store
	Answers() fleet.Answers
}

// Sharing is implemented by a Keyed that several engines may share: see package fleet.
// Journal.Commit then observes Batch.Fence and Batch.Lanes, and Outbox observes
// ClaimRequest.Parts and the parts of NextDue. Every Create, Update and Delete of Monitors,
// Rules, Endpoints and Keys that changes a record adds an entry to the feed. The rules in the
// doc comment of Store apply to these roles, too.
type Sharing interface {
	Keyed
	Members() fleet.Members
	Feed() fleet.Feed
	Signals() fleet.Signals
}
