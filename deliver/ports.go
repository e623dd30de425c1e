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

// Outbox keeps the deliveries that are not final. The journal's commit adds them, in the same
// transaction as their events. Steps of Replays add deliveries, too. Every method is safe for
// concurrent use. storage.Store has the rules for all ports.
type Outbox interface {
	// Claim returns deliveries that are not final and have a Due of r.Now or earlier. They are
	// ordered by Due, and deliveries with equal Due by their creation. Claim atomically sets
	// their Due to r.Now + r.Lease: while a lease lasts, no other call returns the delivery. No
	// call returns a delivery twice. r.Now is the only clock of Claim. The deliveries have
	// their new Due and their events, but no endpoints.
	Claim(ctx context.Context, r ClaimRequest) ([]Delivery, error)
	// Settle records the settlements in their order, all or none of them. The caller need not
	// have the claim. Settle is idempotent: it skips a settlement if the log has its Attempt.N,
	// or if its delivery is final or removed. It appends an attempt to the log unchanged, even
	// if its N is below that of an attempt recorded before it.
	//
	// The deletion of an endpoint ends its deliveries, but their attempts under way are still
	// recorded. Settle appends each such attempt that is not in the log. StateDelivered makes
	// the delivery delivered and clears EndpointDeleted; any other State leaves its state
	// unchanged. The time when its event may be removed does not change.
	//
	// If Settlement.Validate returns an error, Settle returns it. Of a settlement without an
	// Attempt only Due and EndpointDeleted are used.
	Settle(ctx context.Context, ss ...Settlement) error
	// NextDue returns the earliest Due of the deliveries that are not final, including claimed
	// ones. The Due may be the zero time. NextDue reports false if there are none. It considers
	// only endpoints in parts, by fleet.PartOf of their ids; nil means all.
	NextDue(ctx context.Context, parts *fleet.Set) (time.Time, bool, error)
	// Reopen sets final deliveries of r.Owner to StatePending, all or none of them, and returns
	// how many. It sets Due to r.Due, Uncounted to Attempts and Waited to 0, clears
	// EndpointDeleted, and leaves the logs unchanged. It skips deliveries that are open,
	// unknown, removed or of other owners; so a second call changes nothing. Afterwards the
	// events have an open delivery: see Log for the effect on retention.
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
// The store removes an event, with its deliveries and their attempts, after the retention time, by
// the store's clock. The time begins when the event's last delivery becomes final, or at the commit
// if it has no deliveries. The store keeps an event with a delivery that is not final. If the clock
// was ahead when the last delivery became final, only the removal of that event is delayed.
type Log interface {
	// Deliveries returns one page of the deliveries, open and final, that match every condition
	// of q. They have the order of the commits that made them, the newest first unless q.Asc is
	// set. Clocks do not affect the order. For a delivery made by a step of a replay, the store
	// chooses one of two places: next to those of its event, or at the time of the step. If
	// q.Validate returns an error, Deliveries returns it.
	Deliveries(ctx context.Context, q LogQuery) (LogPage, error)
	// Delivery returns one delivery. It returns ErrDeliveryNotFound if the id is unknown,
	// removed or another owner's.
	Delivery(ctx context.Context, owner, id string) (LogEntry, error)
	// Waiting counts the deliveries of endpoints that are not final, by id of the endpoint. It
	// leaves out an endpoint without any, and does not check owners.
	Waiting(ctx context.Context, endpointIDs ...string) (map[string]Waiting, error)
	// Events returns up to limit events of an owner with a sequence number above
	// afterSeq, in order; none for a limit of 0 or less. Removed events are left out
	// and do not count towards limit.
	Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]Event, error)
	// Epoch returns the epoch of the sequence numbers. It is 0, or a random number below 2^53 if
	// the store has lost its last events or was copied. Sequence numbers of different epochs
	// cannot be compared.
	Epoch(ctx context.Context) (uint64, error)
}

// Waiting are the deliveries of an endpoint that are not final.
type Waiting struct {
	Count  int64
	Oldest time.Time // the first Delivery.CreatedAt
}

// LogQuery selects deliveries of one owner.
type LogQuery struct {
	Owner          string
	SourceID       string     // "" for all
	SourceKind     SourceKind // "" for all
	AuthorUsername string     // "" for all; compared without case
	State          State      // "" for all
	Via            Via        // "" for all: see Via.Prefixes
	EndpointID     string     // "" for all; or HandlerEndpoint(name)
	// Since and Until select events detected at Since or later and before Until. The zero time
	// means no limit.
	Since, Until time.Time
	// Cursor is the Next of an earlier page of the same query, and selects the entries after that
	// page. Entries added or removed since do not affect it. If Cursor is set, Page is ignored.
	// PageSize may differ.
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
	// Next is the Cursor for the next page, "" after the last entry or if the page is empty. The
	// store chooses its form, of at most 4,096 bytes. It stays valid even if entries of this page
	// are removed.
	Next string
}

// BadCursor returns the error of Deliveries for a Cursor that is not the Next of a page.
func BadCursor(cursor string) error {
	return invalid.Field("deliver", "cursor", cursor, "the Next of a page of the same query")
}

// Sender sends a delivery to its endpoint. webhook.Sender is one; an embedding program adds others
// by URL scheme. Send is called from many goroutines and may be called again with the same
// delivery. It must return when ctx ends.
type Sender interface {
	Send(ctx context.Context, d *Delivery) Result
}

// Result is the outcome of one attempt.
type Result struct {
	// OK means that the receiver has accepted the delivery. It is then not sent again.
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
	// RetryAfter is how long the receiver asked to wait, 0 if it did not ask. The delivery waits
	// that long, at least 1 s, and the attempt uses up no retry. When the delivery has waited for
	// an hour in all, RetryAfter is ignored; it is also ignored if OK or Permanent is set.
	RetryAfter time.Duration
}
