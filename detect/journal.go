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

// Journal stores detections. Every method is safe for concurrent use. storage.Store documents the
// rules for all ports.
type Journal interface {
	// Commit records the batches in one transaction, all or nothing, in their order. Of each batch
	// it records the cursor (if not nil), the events and the charges.
	//
	// A cursor replaces the whole stored cursor of its target, gaps included, even if the new one is
	// earlier.
	//
	// An event is known if its id occurred before, for any owner and also within this call. It
	// stays known after its deliveries are final and after retention has removed it. Commit drops a
	// known event: it sets its Seq to 0 and changes nothing else of it, here or in the store. The
	// cursor and the charges of its batch are recorded all the same. A new event is stored, even if
	// nobody receives it. In Batch.Events, Commit sets its Seq and CommittedAt and no other field.
	// Seq is the owner's next number, counted over all sources and without holes: a failed Commit
	// uses up none. CommittedAt is by the store's clock.
	//
	// A new event has one delivery for each active endpoint of its Source, by owner, kind and id,
	// the oldest endpoint first. Then it has one for each name in Handlers; a name that occurs
	// twice counts once. The deliveries are StatePending, due at Batch.DeliverBy and created at
	// CommittedAt. Commit appends them to Batch.Deliveries in this order, event by event. Their
	// Event shares no memory but Body with Batch.Events.
	//
	// Commit makes each charge as billing.Ledger.Append makes an entry, but each on its own: it
	// skips a known id. If Append would refuse a charge for its amount, Commit does not make it and
	// appends its id to Batch.Unpaid; the id stays unknown. The events are recorded and known
	// whether paid or not.
	//
	// If Batch.Validate returns an error for one of the batches, Commit fails with that error.
	// After a failure callers ignore the fields that Commit sets.
	Commit(ctx context.Context, batches []*Batch) error
	// Cursors returns the last committed cursor of each target that has one, in any order.
	// The number of targets is not limited.
	Cursors(ctx context.Context, targets ...string) ([]Cursor, error)
}

// Batch is the result of one poll of one target.
type Batch struct {
	Cursor  *Cursor // nil if it did not move
	Events  []deliver.Event
	Charges []billing.Entry
	// DeliverBy is the time until which only the committing process may send the deliveries. After
	// it any process may claim them.
	DeliverBy time.Time
	// Fence is the fence of the committing engine in its fleet. If the fence of one batch is not
	// the current one of its term, the whole Commit fails with fleet.ErrFenced. A batch without a
	// fence makes Commit fail with fleet.ErrShared while the store has a term with a valid lease.
	// Otherwise Commit ends the remaining terms. Stores without fleet.Members ignore Fence and
	// Lanes.
	Fence fleet.Fence
	// Lanes are the parts whose endpoints the committing engine sends to, by fleet.PartOf of their
	// ids; nil means all. Deliveries to other endpoints are due at CommittedAt instead of
	// DeliverBy. Deliveries to handlers always belong to the committing engine.
	Lanes *fleet.Set

	Deliveries []deliver.Delivery // Commit appends the deliveries that it made
	Unpaid     []string           // Commit appends the ids of charges not made
}

// Validate returns a *BatchError that names b and wraps a *deliver.FieldError. It does so if an
// event has no ID, Source.ID or Body, a charge is invalid by its own Validate, or the cursor has no
// Target. Journal.Commit calls it for every batch before it changes anything.
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

// Cursor records how far a target has been read, or a stream received.
type Cursor struct {
	Target string
	// Since is when the last complete poll began. All posts visible at that time have been
	// detected. Posts published before Since minus the overlap have been dealt with.
	Since time.Time
	// UserID is the account's id on its platform, or "".
	UserID string
	// Gaps are ranges that could not be read, oldest first, at most MaxGaps.
	Gaps []Gap
	// Position is the stream's position to resume from, "" for a target that is polled.
	Position string
}

// MaxGaps is the highest number of gaps of a target; beyond it the oldest two are merged.
const MaxGaps = poll.MaxGaps

// Gap is a range of a timeline that could not be read within the page cap. Posts published in it
// may have been missed. The range is read later, piece by piece from its newer end, starting at
// Resume and with calls that polls do not need.
type Gap struct {
	Target   string
	From, To time.Time // range of publication times
	FoundAt  time.Time
	// Resume is the Fetcher's cursor for the rest of the range. If it is "", the rest cannot be
	// read any more and the gap stays.
	Resume string
	// FilledAt is when the last piece of the range was read. The gap is then closed. It is zero in
	// a stored Cursor.
	FilledAt time.Time
}

func (g Gap) String() string {
	return fmt.Sprintf("%s from %s to %s", g.Target, g.From.UTC().Format(time.RFC3339), g.To.UTC().Format(time.RFC3339))
}

// BatchError is the error of a Commit that failed because of one batch. Nothing was recorded; the
// other batches may be committed without it.
type BatchError struct {
	Batch *Batch
	Err   error
}

func (e *BatchError) Error() string { return fmt.Sprintf("detect: batch refused: %v", e.Err) }
func (e *BatchError) Unwrap() error { return e.Err }
