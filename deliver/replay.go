package deliver

import (
	"context"
	"errors"
	"time"
)

// ReplayState says whether a replay goes on.
type ReplayState string

// States of a replay.
const (
	ReplayRunning ReplayState = "running"
	ReplayDone    ReplayState = "done"
)

// Replay sends an endpoint events of its source that it was not sent yet:
// those committed before it existed or while it was disabled, and those whose
// delivery failed. An endpoint has one at a time, running or done.
type Replay struct {
	ID         string
	Owner      string
	EndpointID string
	SourceID   string // of the endpoint's source
	// Since and Until are what was asked for: events committed at Since or later
	// and before Until. Zero means without that bound.
	Since, Until time.Time
	// After and Last are the numbers (Event.Seq) of that range: the owner's events
	// above After, up to Last.
	After, Last uint64
	// Cursor is the number up to which events have been looked at.
	Cursor uint64
	State  ReplayState
	// Created counts deliveries that were made, Reopened failed ones that are sent
	// again, and Left those that were delivered or open, and left alone.
	Created, Reopened, Left int
	// Removed counts the numbers up to Cursor whose events are not stored any
	// more: retention removed them, and they cannot be sent. They were events of
	// any source of the owner, and those before the first that is stored may be
	// from before Since.
	Removed uint64
	// Due is from when on any process may make the next step. A step moves it, so
	// that one process at a time makes them.
	Due       time.Time
	CreatedAt time.Time
	UpdatedAt time.Time

	// Waits says why the replay does not go on at the moment, as far as this
	// process knows, "" if it does. endpoints.Manager fills it in; stores do not
	// keep it.
	Waits string `json:"-"`
}

// Errors of Replays.
var (
	ErrReplayNotFound = errors.New("deliver: replay not found")
	ErrReplayRunning  = errors.New("deliver: the endpoint has a replay that is running")
	ErrReplayConflict = errors.New("deliver: replay changed meanwhile")
	ErrReplayWaits    = errors.New("deliver: the endpoint of the replay is not active")
)

// Replays keeps the replays and carries out their steps. Every method is safe
// for concurrent use; what holds for every port is written at storage.Store. It
// shares its transactions with the journal and the outbox.
type Replays interface {
	// Start stores r as it is in place of the endpoint's replay that is done, if it
	// has one. ErrReplayRunning when it has one that is running, and
	// ErrEndpointNotFound when r.Owner has no such endpoint. A second call with the
	// same ID changes nothing.
	Start(ctx context.Context, r Replay) error
	// Get gives an endpoint's replay; ErrReplayNotFound if there is none, or the
	// endpoint is another owner's or gone: EndpointStore.Delete removes its replay.
	Get(ctx context.Context, owner, endpointID string) (Replay, error)
	// Running gives up to limit replays of all owners that are running and due at
	// now or before, the longest due first; none for a limit of 0 or less.
	Running(ctx context.Context, now time.Time, limit int) ([]Replay, error)
	// Step looks at the owner's next events above r.Cursor, in the order of their
	// numbers, and gives the replay as it is then and the deliveries to send, in
	// that order, in one transaction:
	//
	//   - An event of the source that has no delivery to the endpoint gets one, with
	//     DeliveryID for its id and CreatedAt = Event.CommittedAt, StatePending.
	//   - One that is StateFailed becomes StatePending, as by Outbox.Reopen.
	//   - One that is delivered or open is left alone.
	//
	// The deliveries are due at r.DeliverBy: until then the caller has them for
	// itself. Their events are no longer without an open delivery. The store stops
	// before it would make more than r.Limit deliveries, at Last, and wherever it
	// likes beyond the first event. The cursor moves to the last number looked at,
	// and Created, Reopened, Left and Removed are counted on; at Last, or where no
	// more events are stored up to it, Cursor is Last and State is ReplayDone. Due
	// becomes r.DeliverBy, UpdatedAt r.Now.
	//
	// Nothing is changed and ErrReplayConflict is the answer when the replay is
	// done, or has another ID or Cursor than the caller knows: a step whose answer
	// was lost is not made twice. It is ErrReplayWaits when the endpoint is not
	// active, ErrReplayNotFound as Get has it.
	Step(ctx context.Context, r ReplayStep) (Replay, []Delivery, error)
}

// ReplayStep asks for a step.
type ReplayStep struct {
	Owner, EndpointID string
	ID                string    // of the replay
	Cursor            uint64    // that it has
	Limit             int       // of deliveries; below 1 means 1
	Now               time.Time // of the caller
	DeliverBy         time.Time
}
