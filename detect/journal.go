package detect

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
)

// Journal makes detections last. Every method is safe for concurrent use.
type Journal interface {
	// Commit records the batches in one transaction: all or nothing. For each
	// batch it stores the cursor (when not nil), and for each event whose id is
	// not known yet it gives the owner's next sequence number, stamps
	// CommittedAt of the new event with its clock, stores it, and makes one
	// delivery per active endpoint bound to its source and one per name in
	// Handlers, each due at Batch.DeliverBy. It adds these to Batch.Deliveries,
	// in order. An event already known is dropped: its Seq stays 0. A charge
	// whose id is known is skipped; one that the balance does not cover is not
	// made, and its id is added to Batch.Unpaid.
	//
	// After a failure nothing is recorded, and the out-fields of the batches
	// are not used. A *BatchError says that one batch alone is at fault.
	Commit(ctx context.Context, batches []*Batch) error
	// Cursors gives the stored cursors of the targets that have one, in any
	// order.
	Cursors(ctx context.Context, targets ...string) ([]Cursor, error)
}

// Batch is the outcome of one poll of one target.
type Batch struct {
	Cursor  *Cursor // nil when it did not move
	Events  []deliver.Event
	Charges []billing.Entry
	// DeliverBy is until when the committing process has the deliveries to
	// itself; afterwards anyone may claim them.
	DeliverBy time.Time

	Deliveries []deliver.Delivery // set by Commit
	Unpaid     []string           // set by Commit: ids of charges not made
}

// Cursor is how far a target has been read.
type Cursor struct {
	Target string
	// Since is when the last complete poll began: what was visible then has
	// been detected. Posts published before Since less the overlap are done.
	Since time.Time
	// UserID is the account's id on its platform, "" if there is none.
	UserID string
	// Gaps are ranges that could not be read, oldest first, at most MaxGaps.
	Gaps []Gap
}

// MaxGaps bounds the gaps kept for a target; beyond it the oldest two merge.
const MaxGaps = 16

// Gap is a range of a timeline that could not be read within the page cap:
// posts published in it may have been missed. It is read on from Resume, bit
// by bit from its newer end, in calls that the polls leave over.
type Gap struct {
	Target   string
	From, To time.Time // publication times
	FoundAt  time.Time
	// Resume is the Fetcher's cursor for the rest of the range; "" when it can
	// not be read any more, and the gap stays.
	Resume string
	// FilledAt is when the last of the range was read: then it is not a gap any
	// more. Zero in a stored Cursor.
	FilledAt time.Time
}

func (g Gap) String() string {
	return fmt.Sprintf("%s from %s to %s", g.Target, g.From.UTC().Format(time.RFC3339), g.To.UTC().Format(time.RFC3339))
}

// BatchError is a failed Commit that names the batch at fault: the others may
// be committed without it.
type BatchError struct {
	Batch *Batch
	Err   error
}

func (e *BatchError) Error() string { return fmt.Sprintf("detect: batch refused: %v", e.Err) }
func (e *BatchError) Unwrap() error { return e.Err }
