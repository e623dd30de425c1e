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
	// After and Last are the numbers (Event.Seq) of that range: the owner's events
	// above After, up to Last.
	After, Last uint64
	// Cursor is the number of the last event that steps have handled.
	Cursor uint64
	State  ReplayState
	// Created counts new deliveries, Reopened counts failed deliveries that are sent again, and
	// Left counts delivered and open deliveries, which were left as they were.
	Created, Reopened, Left int
	// Removed counts the numbers up to Cursor without a stored event, because retention has
	// removed it. Such an event may have been of any source of the owner, and may be from before
	// Since if its number is below that of the first stored event.
	Removed uint64
	// Due is when a process may make the next step. Each step moves it, so that only one process
	// at a time makes steps.
	Due       time.Time
	CreatedAt time.Time
	UpdatedAt time.Time

	// Waits says why the replay makes no progress at the moment, "" if it does or this process
	// does not know. endpoints.Manager sets it; stores do not keep it.
	Waits string `json:"-"`
}

// Errors of Replays.
var (
	ErrReplayNotFound = errors.New("deliver: replay not found")
	ErrReplayRunning  = errors.New("deliver: the endpoint has a replay that is running")
	ErrReplayConflict = errors.New("deliver: replay changed meanwhile")
	ErrReplayWaits    = errors.New("deliver: the endpoint of the replay is not active")
)

// Replays keeps the replays and carries out their steps, in transactions with the
// journal and the outbox. Every method is safe for concurrent use; storage.Store has
// the rules for all ports.
type Replays interface {
	// Start stores r unchanged. It replaces the endpoint's replay if that is done, and returns
	// ErrReplayRunning if it is running. It returns ErrEndpointNotFound if r.Owner has no such
	// endpoint. A second call with the same ID changes nothing.
	Start(ctx context.Context, r Replay) error
	// Get returns an endpoint's replay. It returns ErrReplayNotFound if there is none, or if the
	// endpoint is another owner's or was deleted.
	Get(ctx context.Context, owner, endpointID string) (Replay, error)
	// Running returns up to limit running replays of all owners with a Due of now or earlier,
	// the earliest first; none for a limit of 0 or less.
	Running(ctx context.Context, now time.Time, limit int) ([]Replay, error)
	// Step goes through the owner's next events above r.Cursor, in the order of their
	// numbers, and returns the replay after the step and the deliveries to send, in
	// that order. In one transaction, for each event of the source:
	//
	//   - If it has no delivery to the endpoint, one is made, with DeliveryID for its
	//     id and CreatedAt = Event.CommittedAt, StatePending.
	//   - If its delivery is StateFailed, it becomes StatePending, as by Outbox.Reopen.
	//   - If its delivery is delivered or open, it does not change.
	//
	// The deliveries are due at r.DeliverBy: until then the caller has the claim.
	// Their events then have an open delivery. The store stops before it would make
	// more than r.Limit deliveries, at Last, and may stop anywhere after the first
	// event. Cursor moves to the last number of the step, and Created, Reopened, Left
	// and Removed grow. At Last, or if no more events are stored up to it, Cursor is
	// Last and State is ReplayDone. Due becomes r.DeliverBy, UpdatedAt r.Now.
	//
	// If the replay is done, or its ID or Cursor differs from the caller's, Step changes nothing
	// and returns ErrReplayConflict: so a step is not made twice if its answer was lost. It
	// returns ErrReplayWaits if the endpoint is not active, and ErrReplayNotFound as Get does.
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
