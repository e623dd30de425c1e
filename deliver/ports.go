package deliver

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// ErrDeliveryNotFound means that there is no such delivery, or that it belongs to another owner.
var ErrDeliveryNotFound = errors.New("deliver: delivery not found")

// Outbox holds the deliveries that are not final. The journal's commit adds them, in the same
// transaction as their events; steps of Replays add them, too. Every method is safe for
// concurrent use; storage.Store has the rules for all ports.
type Outbox interface {
	// Claim returns deliveries that are not final and have a Due of r.Now or earlier, the
	// earliest Due first; among equals the one made first. It moves their Due to r.Now +
	// r.Lease, atomically: two claimants never get the same delivery while a lease lasts, and no
	// call returns a delivery twice. The store's clock does not matter. The deliveries have
	// their new Due and their events, but no endpoints.
	Claim(ctx context.Context, r ClaimRequest) ([]Delivery, error)
	// Settle records the settlements in their order, all or none of them. It does not check who
	// has the claim. It is idempotent: it skips a settlement if the log has its Attempt.N, or if
	// its delivery is final or removed. It appends an attempt to the log unchanged, even if its
	// N is below that of an attempt recorded before it.
	//
	// A delivery that was ended by the deletion of its endpoint still gets the attempts that
	// were under way: each that is not in the log is appended, and StateDelivered makes the
	// delivery delivered and clears EndpointDeleted. Any other State leaves its state unchanged.
	// The time when its event may be removed does not change.
	//
	// If Settlement.Validate reports an error, the call fails with that error. Without
	// an Attempt, only Due and EndpointDeleted are used.
	Settle(ctx context.Context, ss ...Settlement) error
	// NextDue returns the smallest Due of the deliveries that are not final, including claimed
	// ones; it may be the zero time. It reports false if there are none. It counts only
	// endpoints in parts, by fleet.PartOf of their ids; nil means all.
	NextDue(ctx context.Context, parts *fleet.Set) (time.Time, bool, error)
	// Reopen makes final deliveries of r.Owner StatePending again, all or none of them, and
	// returns how many. It sets Due to r.Due, Uncounted to Attempts and Waited to 0, clears
	// EndpointDeleted, and leaves the logs unchanged. It skips deliveries that are open,
	// unknown, removed or of other owners, so that a second call changes nothing. The events
	// then have an open delivery: see Log for the effect on retention.
	Reopen(ctx context.Context, r ReopenRequest) (int, error)
}

// ReopenRequest names deliveries to send again.
type ReopenRequest struct {
	Owner string
	IDs   []string // of deliveries; an id may occur twice
	Due   time.Time
}

// ClaimRequest selects deliveries to claim.
type ClaimRequest struct {
	Now   time.Time
	Lease time.Duration // how long the claim lasts; 0 for no claim
	Limit int           // the most deliveries to claim, up to math.MaxInt; none for 0 or less
	// Skip has ids of endpoints to leave out, because their lanes are full. Deliveries of other
	// endpoints fill Limit. An id may be unknown or occur twice.
	Skip []string
	// Parts limits the claim to endpoints in these parts, by fleet.PartOf of their ids. Nil
	// means all.
	Parts *fleet.Set
}

// Log reads deliveries and events of one owner. Every method is safe for concurrent use;
// storage.Store has the rules for all ports.
//
// The store removes an event, with its deliveries and their attempts, when the retention time
// has passed since its last delivery became final or, without deliveries, since its commit, by
// the store's clock. It does not remove an event with a delivery that is not final. If the clock
// was ahead when an event's last delivery became final, only the removal of that event is
// delayed.
type Log interface {
	// Deliveries returns one page of the deliveries, open and final, that match every condition
	// of q. They are in the order in which Commit made them, the newest first unless q.Asc is
	// set; clocks do not affect the order. A delivery made by a step of a replay comes next to
	// those of its event or at the time of the step, as the store chooses. If q.Validate returns
	// an error, Deliveries returns it.
	Deliveries(ctx context.Context, q LogQuery) (LogPage, error)
	// Delivery returns one delivery. It returns ErrDeliveryNotFound if the id is unknown,
	// removed or another owner's.
	Delivery(ctx context.Context, owner, id string) (LogEntry, error)
	// Events returns up to limit events of an owner with a sequence number above
	// afterSeq, in order; none for a limit of 0 or less. Removed events are left out
	// and do not count towards limit.
	Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]Event, error)
	// Epoch returns the epoch of the sequence numbers: 0, or a random number below 2^53 if the
	// store has lost its last events or was copied. Sequence numbers of different epochs cannot
	// be compared.
	Epoch(ctx context.Context) (uint64, error)
}

// LogQuery selects deliveries of one owner.
type LogQuery struct {
	Owner          string
	SourceID       string     // "" for all
	SourceKind     SourceKind // "" for all
	AuthorUsername string     // "" for all; compared without case
	State          State      // "" for all
	Via            Via        // "" for all: see Via.Prefixes
	// Since and Until select events detected at Since or later and before Until. The zero time
	// means no limit.
	Since, Until time.Time
	// Cursor selects the entries after an earlier page of the same query: it is the Next of that
	// page. Entries added or removed since do not affect it. Page is then ignored. PageSize may
	// differ.
	Cursor   string
	Asc      bool // oldest first; newest first by default
	Page     int  // from 1; 0 means 1; empty beyond the last
	PageSize int  // 0 means 20
	// NoTotal allows the store to leave LogPage.Total at 0, since counting may take long.
	NoTotal bool
}

// MaxLogPage is the largest LogQuery.PageSize allowed.
const MaxLogPage = 10_000

// Validate returns a *FieldError for the first field that is not allowed. Stores call it first.
func (q *LogQuery) Validate() error {
	switch {
	case q.Page < 0:
		return invalid.Field("deliver", "page", strconv.Itoa(q.Page), "at least 1, or 0 for 1")
	case q.PageSize < 0 || q.PageSize > MaxLogPage:
		return invalid.Field("deliver", "page_size", strconv.Itoa(q.PageSize), "1 to 10,000, or 0 for 20")
	}
	if !q.Until.IsZero() && !q.Until.After(q.Since) {
		return invalid.Field("deliver", "until", q.Until.Format(time.RFC3339Nano), "a time after since")
	}
	switch q.SourceKind {
	case "", SourceMonitor, SourceRule:
	default:
		return invalid.Field("deliver", "source_kind", string(q.SourceKind), `"monitor" or "rule", or none for all`)
	}
	switch q.Via {
	case "", ViaWebhook, ViaHandler, ViaWebSocket:
	default:
		return invalid.Field("deliver", "via", string(q.Via), `"webhook", "handler" or "websocket", or none for all`)
	}
	switch q.State {
	case "", StatePending, StateRetrying, StateDelivered, StateFailed:
		return nil
	}
	return invalid.Field("deliver", "delivery_status", string(q.State), `"pending", "retrying", "delivered" or "failed", or none for all`)
}

// LogEntry is a delivery with its attempts.
type LogEntry struct {
	Delivery
	Log []Attempt // in the order in which they were settled
}

// FirstAttemptAt returns when the first recorded attempt began, or zero if there is none.
func (e *LogEntry) FirstAttemptAt() time.Time {
	if len(e.Log) == 0 {
		return time.Time{}
	}
	return e.Log[0].At
}

// AcknowledgedAt returns the end of the attempt with which the receiver accepted the delivery,
// or zero if it has not accepted it.
func (e *LogEntry) AcknowledgedAt() time.Time {
	if e.State != StateDelivered || len(e.Log) == 0 {
		return time.Time{}
	}
	last := e.Log[len(e.Log)-1]
	return last.At.Add(last.Duration)
}

// LogPage is one page of the delivery log.
type LogPage struct {
	Entries []LogEntry
	Total   int // entries of all pages
	// Next is the Cursor for the next page, "" after the last entry or if the page is empty. Its
	// form is up to the store, at most 4,096 bytes. It stays valid even if entries of this page
	// are removed.
	Next string
}

// BadCursor returns the error of Deliveries for a Cursor that is not the Next of a page.
func BadCursor(cursor string) error {
	return invalid.Field("deliver", "cursor", cursor, "the Next of a page of the same query")
}

// Sender sends a delivery to its endpoint. webhook.Sender is one; an embedding
// program adds others by URL scheme. Send is called from many goroutines, must
// return when ctx ends, and may be called with the same delivery again.
type Sender interface {
	Send(ctx context.Context, d *Delivery) Result
}

// Result is the outcome of one attempt.
type Result struct {
	// OK means that the receiver has accepted the delivery: it is not sent again.
	OK bool
	// Permanent means that no retry can help.
	Permanent  bool
	StatusCode int
	// Error describes the failure, without internal addresses. The dispatcher cuts it
	// to 1 KiB.
	Error string
	// ResponsePreview is the start of the answer's body, cut to 4 KiB, or a note that
	// the body is not text.
	ResponsePreview string
	// RetryAfter is how long the receiver asked to wait, 0 if it did not. The delivery
	// waits so long, at least 1 s, and the attempt uses up no retry, until the delivery
	// has waited for an hour in all. It is ignored if OK or Permanent is set.
	RetryAfter time.Duration
}
