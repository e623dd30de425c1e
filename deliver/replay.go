package deliver

import (
	"context"
	"errors"
	"time"
)

// ReplayState is the state of a replay.
type ReplayState string

// States of a replay.
const (
	ReplayRunning ReplayState = "running"
	ReplayDone    ReplayState = "done"
)

// Replay sends an endpoint the events of its source that it has not received: events committed
// before it existed or while it was disabled, and events with failed deliveries. An endpoint has
// at most one replay, running or done.
type Replay struct {
	ID         string
	Owner      string
	EndpointID string
	SourceID   string // of the endpoint's source
	// Since and Until are the requested range: events committed at Since or later and before
	// Until. Zero means no limit.
	Since, Until time.Time
	// After and Last are the same range in numbers (Event.Seq): the owner's events above After,
	// up to and including Last.
	After, Last uint64
	// Cursor is the number of the last event that steps have handled.
	Cursor uint64
	State  ReplayState
	// Created counts new deliveries. Reopened counts failed deliveries that are sent again. Left
	// counts delivered and open deliveries, which the replay does not change.
	Created, Reopened, Left int
	// Removed counts the numbers up to Cursor whose events retention has removed. Such an event
	// may have had any source of the owner. If its number is below that of the first stored
	// event, it may be from before Since.
	Removed uint64
	// Due is when a process may make the next step. Each step sets a later Due, so that only one
	// process at a time makes steps.
	Due       time.Time
	CreatedAt time.Time
	UpdatedAt time.Time

	// Waits says why the replay makes no progress now. It is "" if the replay makes progress or
	// this process does not know. endpoints.Manager sets it; stores do not keep it.
	Waits string `json:"-"`
}

// Errors of Replays.
var (
	ErrReplayNotFound = errors.New("deliver: replay not found")
	ErrReplayRunning  = errors.New("deliver: the endpoint has a replay that is running")
	ErrReplayConflict = errors.New("deliver: replay changed meanwhile")
	ErrReplayWaits    = errors.New("deliver: the endpoint of the replay is not active")
)

// Replays keeps the replays and carries out their steps, in transactions with the journal and the
// outbox. Every method is safe for concurrent use. storage.Store has the rules for all ports.
type Replays interface {
	// Start stores r unchanged, but without Waits. If the endpoint has a replay that is done, r replaces it. If that
	// replay is running, Start returns ErrReplayRunning. It returns ErrEndpointNotFound if r.Owner
	// has no such endpoint. A second call with the same ID changes nothing.
	Start(ctx context.Context, r Replay) error
	// Get returns an endpoint's replay. It returns ErrReplayNotFound if there is none, or if the
	// endpoint is another owner's or was deleted.
	Get(ctx context.Context, owner, endpointID string) (Replay, error)
	// Running returns up to limit running replays of all owners with a Due of now or earlier, in
	// the order of Due. It returns none for a limit of 0 or less.
	Running(ctx context.Context, now time.Time, limit int) ([]Replay, error)
	// Step handles the owner's next events above r.Cursor, in the order of their numbers. It
	// returns the replay after the step and the deliveries to send, in the same order. In one
	// transaction, for each event of the source:
	//
	//   - If the event has no delivery to the endpoint, Step makes one, with DeliveryID for its
	//     id, CreatedAt = Event.CommittedAt, and StatePending.
	//   - If the delivery is StateFailed, it becomes StatePending, as by Outbox.Reopen.
	//   - If the delivery is delivered or open, it does not change.
	//
	// The deliveries are due at r.DeliverBy: until then the caller has the claim. Their events
	// then have an open delivery. Step ends at Last, or before it would make more than r.Limit
	// deliveries; the store may end it anywhere after the first event. Cursor becomes the last
	// number of the step, and Created, Reopened, Left and Removed grow. If no event up to Last
	// remains, Cursor becomes Last and State ReplayDone. Due becomes r.DeliverBy, UpdatedAt r.Now.
	//
	// If the replay is done, or its ID or Cursor differs from r's, Step changes nothing and
	// returns ErrReplayConflict. So a step whose answer was lost is not made twice. Step returns
	// ErrReplayWaits if the endpoint is not active, and ErrReplayNotFound as Get does.
	Step(ctx context.Context, r ReplayStep) (Replay, []Delivery, error)
}

// ReplayStep describes a step for Replays.Step.
type ReplayStep struct {
	Owner, EndpointID string
	ID                string    // of the replay
	Cursor            uint64    // of the replay
	Limit             int       // of deliveries; below 1 means 1
	Now               time.Time // by the caller's clock
	DeliverBy         time.Time // Due of the deliveries
}
