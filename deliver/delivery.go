package deliver

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/internal/invalid"
)

// State of a delivery.
type State string

// States of a delivery. Delivered and Failed are final.
const (
	StatePending   State = "pending"   // not attempted yet
	StateRetrying  State = "retrying"  // attempted, and will be attempted again
	StateDelivered State = "delivered" // the receiver accepted it
	StateFailed    State = "failed"    // no attempt succeeded; none will follow
)

// Final reports whether no further attempt will be made.
func (s State) Final() bool { return s == StateDelivered || s == StateFailed }

// Delivery is one event on its way to one endpoint.
type Delivery struct {
	ID         string // DeliveryID(Event.ID, EndpointID)
	EndpointID string // or HandlerEndpoint(name)
	Event      *Event // shared and read-only
	State      State
	Attempts   int // attempts recorded so far
	// Uncounted is how many of Attempts do not count in the retry schedule: all attempts recorded
	// before the last Outbox.Reopen, and later attempts with a Settlement.Wait.
	Uncounted int
	// Waited is the sum of Settlement.Wait since the last Outbox.Reopen.
	Waited time.Duration
	// EndpointDeleted means that the deletion of the endpoint ended the delivery. Its State is
	// then StateFailed: see record.Change.Delete.
	EndpointDeleted bool
	// Due is when a dispatcher may claim the delivery. A claim sets Due to the end of the claim.
	// If the dispatcher dies, another one claims the delivery then. It has no meaning in a final
	// delivery.
	Due       time.Time
	CreatedAt time.Time

	// Endpoint is the endpoint's current record. The dispatcher sets it just before Send; stores
	// ignore it.
	Endpoint Endpoint
}

// Owner returns the owner of the event.
func (d *Delivery) Owner() string { return d.Event.Source.Owner }

// Attempt is one attempt to send a delivery.
type Attempt struct {
	N          int // from 1
	At         time.Time
	Duration   time.Duration
	StatusCode int    // 0 when there was no HTTP answer
	Error      string // "" on success
	// ResponsePreview is the start of the answer's body, at most 4 KiB, or a note
	// that the body is not text.
	ResponsePreview string
}

// Settlement records an attempt and the state of its delivery after it.
type Settlement struct {
	DeliveryID string
	// Attempt is appended to the log. A nil Attempt gives back an unused claim: the store only
	// sets Due.
	Attempt *Attempt
	// EndpointDeleted, without an Attempt, ends an open delivery as record.Change.Delete does.
	// State and Due are then ignored.
	EndpointDeleted bool
	// State after the attempt: StateRetrying, StateDelivered or StateFailed.
	State State
	// Due is when a delivery that is retrying or given back may be claimed again.
	Due time.Time
	// Wait is how much of the time until Due the receiver asked for, in whole milliseconds. If it
	// is above 0, the store adds it to Delivery.Waited, and the attempt does not count in the
	// retry schedule: see Delivery.Uncounted. Wait applies only with an Attempt and
	// StateRetrying.
	Wait time.Duration
}

// Validate returns a *FieldError if the attempt's number is below 1, or if State is not allowed
// after an attempt. Stores call it in Outbox.Settle.
func (st *Settlement) Validate() error {
	switch {
	case st.Attempt == nil:
		return nil
	case st.Attempt.N < 1:
		return invalid.Field("deliver", "Settlement.Attempt.N", strconv.Itoa(st.Attempt.N), "1 or more")
	case st.State != StateRetrying && !st.State.Final():
		return invalid.Field("deliver", "Settlement.State", string(st.State), `"retrying", "delivered" or "failed"`)
	}
	return nil
}
