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

// Store is a backend. The accessors are cheap, never return nil, and may be
// called at any time, also concurrently and after Close.
//
// What follows holds for every method of every role.
//
// Outcome: a call takes effect whole or not at all, and one that returned nil is
// seen by every call that begins later. The errors that the ports name, which
// may come wrapped, mean that nothing was changed. Another error, as of a broken
// connection, may also mean that all was done and the answer lost: never a part.
// The caller then asks again, which the ids make harmless.
//
// Context: one that has ended before the call gives its ctx.Err() and nothing is
// changed. Whether one that ends during the call cuts it short is the store's
// choice: then ctx.Err() is one of the errors that may also mean that all was done,
// if the store was taking the change to its disk or server at that moment.
//
// Values: a store keeps what it is given and judges it only where a port says
// so. Text is any UTF-8, NUL included, and compared byte by byte: no pattern, no
// trimming, and keys made of two texts do not run into each other ("a:b", "c"
// and "a", "b:c"). Ids, names and URLs of 1 KiB, other text of 64 KiB and an
// Event.Body of 1 MiB, whatever its bytes, have to fit. An instant survives to
// the microsecond, also before 1970 and in 2200, while its zone may change; no
// time stays no time, which is not 1970. Durations survive to the microsecond.
// A nil slice and an empty one are the same, in records and in answers.
//
// Memory: records handed in or out share none with the store, but for what is
// declared read-only: Event.Body, and the Event of a Delivery.
//
// Clock: the store has one, usually time.Now, for Event.CommittedAt,
// Delivery.CreatedAt, what has expired, and retention. Order never depends on
// it: what was made first comes first, even when it steps back.
//
// Errors tell no secrets: they do not print a Secret or a whole record.
type Store interface {
	Monitors() monitor.Store
	Rules() rule.Store
	Endpoints() deliver.EndpointStore
	Journal() detect.Journal
	Outbox() deliver.Outbox
	Log() deliver.Log
	Replays() deliver.Replays
	Ledger() billing.Ledger
	// Close ends the backend: calls under way finish until ctx ends, later ones
	// fail, with an error of the store's choice. Each is done or refused: what
	// was acknowledged is kept. It returns nil when all calls had ended by
	// themselves, and is called once, by whoever opened the store.
	Close(ctx context.Context) error
}

// Keyed is what a Store implements, too, when it keeps what a service has beside its engine:
// API keys, and the answers to requests that clients may repeat. What is written at Store
// holds for these roles as well.
type Keyed interface {
	Keys() apikey.Store
	Answers() fleet.Answers
}

// Sharing is what a Keyed implements, too, when several engines may share it: see package
// fleet. Then Journal.Commit looks at Batch.Fence and Batch.Lanes, Outbox at
// ClaimRequest.Parts and the parts of NextDue, and every Create, Update and Delete of
// Monitors, Rules, Endpoints and Keys that changes a record has its entry in the feed.
// What is written at Store holds for these roles as well.
type Sharing interface {
	Keyed
	Members() fleet.Members
	Feed() fleet.Feed
	Signals() fleet.Signals
}
