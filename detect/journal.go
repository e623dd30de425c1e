package detect

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect/internal/poll"
	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Journal makes detections last. Every method is safe for concurrent use; what
// holds for every port is written at storage.Store.
type Journal interface {
	// Commit records the batches in one transaction, all or nothing, in their
	// order: of each the cursor (when not nil), the events and the charges.
	//
	// A cursor replaces the whole one that its target had, gaps included, even
	// when it is earlier: the journal does not judge it.
	//
	// An event is known by its id alone, over all owners and within this call,
	// and stays known when its deliveries are final and when retention has
	// removed it. A known one is dropped: its Seq is set to 0, whatever it was, and
	// no more of it is changed, here or in the store; the cursor and the charges
	// of its batch count all the same.
	// A new one is stored, received by somebody or not. In Batch.Events it gets
	// its owner's next Seq, over all sources and without holes (a failed Commit
	// uses up none), and CommittedAt by the store's clock; no more is changed.
	//
	// A new event has one delivery for each active endpoint with its
	// Source.Owner and Source.ID, the oldest endpoint first, and then one for
	// each name in Handlers; a name that is there twice counts once. They are
	// StatePending, due at Batch.DeliverBy and created at CommittedAt, and are
	// appended to Batch.Deliveries in this order, event by event. Their Event
	// shares no memory but Body with Batch.Events.
	//
	// A charge is a line of the ledger, made as by billing.Ledger.Append, but
	// each on its own: an id that is known is skipped. One that Append would
	// refuse for its amount is not made, its id is appended to Batch.Unpaid and
	// stays unknown. The events are recorded, paid or not,
	// and known from then on.
	//
	// What Batch.Validate reports of one of the batches fails the call with that
	// error. After a failure the out-fields of the batches are not used.
	Commit(ctx context.Context, batches []*Batch) error
	// Cursors returns the stored cursor, as committed last, of each target that has one,
	// in any order. There is no limit to the number of targets.
	Cursors(ctx context.Context, targets ...string) ([]Cursor, error)
}

// Batch is the outcome of one poll of one target.
type Batch struct {
	Cursor  *Cursor // nil when it did not move
	Events  []deliver.Event
	Charges []billing.Entry
	// DeliverBy is the time until which only the committing process may send the
	// deliveries; afterwards any process may claim them.
	DeliverBy time.Time
	// Fence is the fence of the committing engine in its fleet. If that of one batch is not
	// the present fence of its term, the whole Commit fails with fleet.ErrFenced. A batch
	// without a fence fails it with fleet.ErrShared while the store has a term whose lease
	// has not run out; otherwise the remaining terms are ended. Stores that do not implement
	// storage.Sharing ignore Fence and Lanes.
	Fence fleet.Fence
	// Lanes are the parts whose endpoints the committing engine sends to, by
	// fleet.PartOf of their ids; nil is all. Deliveries to other endpoints are due at
	// CommittedAt in place of DeliverBy; deliveries to handlers are always its own.
	Lanes *fleet.Set

	Deliveries []deliver.Delivery // Commit appends the deliveries that it made
	Unpaid     []string           // Commit appends the ids of charges not made
}

// Validate reports an event without ID, Source.ID or Body, a charge that its own
// Validate refuses, or a cursor without Target, as a *BatchError that names b and
// wraps a *deliver.FieldError. Stores call it in Journal.Commit, for every batch
// before they change anything.
func (b *Batch) Validate() error {
	if err := b.validate(); err != nil {
		return &BatchError{Batch: b, Err: err}
	}
	return nil
}

func (b *Batch) validate() error {
	for i := range b.Events {
		ev := &b.Events[i]
		switch {
		case ev.ID == "":
			return invalid.Field("detect", "Event.ID", "", "the id of the event")
		case ev.Source.ID == "":
			return invalid.Field("detect", "Event.Source.ID", "", "the id of a monitor or rule")
		case len(ev.Body) == 0:
			return invalid.Field("detect", "Event.Body", "", "the encoded event")
		}
	}
	for i := range b.Charges {
		if err := b.Charges[i].Validate(); err != nil {
			return err
		}
	}
	if b.Cursor != nil && b.Cursor.Target == "" {
		return invalid.Field("detect", "Cursor.Target", "", "the target that was polled")
	}
	return nil
}

// Cursor is how far a target has been read, or a stream received.
type Cursor struct {
	Target string
	// Since is when the last complete poll began: all posts visible then have been
	// detected. Posts published before Since less the overlap have been dealt with.
	Since time.Time
	// UserID is the account's id on its platform, "" if there is none.
	UserID string
	// Gaps are ranges that could not be read, oldest first, at most MaxGaps.
	Gaps []Gap
	// Position is where a stream is resumed, "" for a target that is polled.
	Position string
}

// MaxGaps bounds the gaps kept for a target; beyond it the oldest two merge.
const MaxGaps = poll.MaxGaps

// Gap is a range of a timeline that could not be read within the page cap:
// posts published in it may have been missed. It is read on from Resume, bit
// by bit from its newer end, in calls that the polls leave over.
type Gap struct {
	Target   string
	From, To time.Time // publication times
	FoundAt  time.Time
	// Resume is the Fetcher's cursor for the rest of the range; "" when the rest cannot be
	// read any more, and the gap stays.
	Resume string
	// FilledAt is when the end of the range was read, which closes the gap. Zero in a
	// stored Cursor.
	FilledAt time.Time
}

func (g Gap) String() string {
	return fmt.Sprintf("%s from %s to %s", g.Target, g.From.UTC().Format(time.RFC3339), g.To.UTC().Format(time.RFC3339))
}

// BatchError is the error of a Commit that failed because of one batch, which Batch points
// to. Nothing was recorded; the other batches may be committed without it.
type BatchError struct {
	Batch *Batch
	Err   error
}

func (e *BatchError) Error() string { return fmt.Sprintf("detect: batch refused: %v", e.Err) }
func (e *BatchError) Unwrap() error { return e.Err }
