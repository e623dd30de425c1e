package deliver

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fleet"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// ErrDeliveryNotFound: no such delivery, or another owner's.
var ErrDeliveryNotFound = errors.New("deliver: delivery not found")

// Outbox holds the deliveries that are not final. They are put there by the
// journal's commit, in the same transaction as their events, and by the steps of
// Replays. Every method is
// safe for concurrent use; what holds for every port is written at
// storage.Store.
type Outbox interface {
	// Claim returns deliveries that are not final and due at r.Now or before,
	// the longest due first and of those due at once the one made first. It
	// moves their Due to r.Now + r.Lease, atomically: two claimants never get
	// the same delivery while a lease lasts, and one call gives none twice. The
	// time is the caller's: the store's clock has no say. The deliveries come
	// with their new Due and their events, without their endpoints.
	Claim(ctx context.Context, r ClaimRequest) ([]Delivery, error)
	// Settle records the outcomes in their order, all or none, whoever has the
	// claim. It is idempotent: a settlement whose Attempt.N is in the log
	// already, or whose delivery is final or gone, changes nothing and hinders
	// no other. An attempt is appended to the log as it is,
	// also one whose N is below that of an attempt recorded before it.
	//
	// A delivery that the deletion of its endpoint ended takes attempts all the
	// same, for they were under way: each that is not in the log is appended, and
	// StateDelivered makes the delivery delivered and clears EndpointDeleted. After
	// another State it stays as it is. When its event may be removed does not change.
	//
	// What Settlement.Validate reports of one of them fails the call with that
	// error. Without an Attempt only Due and EndpointDeleted are looked at.
	Settle(ctx context.Context, ss ...Settlement) error
	// NextDue is the smallest Due of the deliveries that are not final, those
	// claimed included, and may be the zero time; false when there are none. Only
	// endpoints of parts count, by fleet.PartOf of their ids; nil is all.
	NextDue(ctx context.Context, parts *fleet.Set) (time.Time, bool, error)
	// Reopen makes final deliveries of r.Owner StatePending again, due at r.Due,
	// with their logs as they are, Uncounted = Attempts, Waited = 0 and without
	// EndpointDeleted, all of them or none, and says how many. What is open, unknown,
	// removed or another owner's is left as
	// it is, so that a second call changes nothing. Their events are no longer
	// without an open delivery: see Log for what that means for retention.
	Reopen(ctx context.Context, r ReopenRequest) (int, error)
}

// ReopenRequest says which deliveries are to be sent again.
type ReopenRequest struct {
	Owner string
	IDs   []string // of deliveries; may be there twice
	Due   time.Time
}

// ClaimRequest says which deliveries are wanted.
type ClaimRequest struct {
	Now   time.Time
	Lease time.Duration // how long the claimant keeps them; 0 for not at all
	Limit int           // at most so many, up to math.MaxInt; none for 0 or less
	// Skip leaves out these endpoints, whose lanes have no room: the deliveries
	// of others fill Limit. Names may be unknown or there twice.
	Skip []string
	// Parts bounds the claim to endpoints of these parts, by fleet.PartOf of their
	// ids. Nil is all.
	Parts *fleet.Set
}

// Log answers questions about deliveries and events, the newest first. Every
// method is safe for concurrent use, and shows only what the owner owns; what
// holds for every port is written at storage.Store.
//
// Retention removes an event with its deliveries and their attempts, when it
// has passed since the last delivery became final or, without any, since the
// commit, by the store's clock. While a delivery is not final nothing of its
// event is removed. Each event counts for itself: one that ended while the clock
// was ahead holds back no others.
type Log interface {
	// Deliveries gives one page of those that match every condition of q, open
	// and final ones, in the order in which Commit made them, the last first
	// unless q.Asc. Clocks do not matter for that. One that a step of a replay made
	// stands with those of its event or where the step made it: the store's choice.
	// What q.Validate refuses it refuses with that error.
	Deliveries(ctx context.Context, q LogQuery) (LogPage, error)
	// Delivery shows one as Deliveries does. Unknown, removed and another
	// owner's give ErrDeliveryNotFound.
	Delivery(ctx context.Context, owner, id string) (LogEntry, error)
	// Events gives up to limit events of an owner with a sequence number above
	// afterSeq, in order; none for a limit of 0 or less. An event that retention
	// removed is left out and does not count towards limit.
	Events(ctx context.Context, owner string, afterSeq uint64, limit int) ([]Event, error)
}

// LogQuery selects deliveries of one owner.
type LogQuery struct {
	Owner          string
	SourceID       string     // "" for all
	SourceKind     SourceKind // "" for all
	AuthorUsername string     // "" for all; compared without case
	State          State      // "" for all
	Via            Via        // "" for all: see Via.Prefixes
	// Since and Until select by when an event was detected: at Since or later and
	// before Until. The zero time is no bound.
	Since, Until time.Time
	// Cursor, the Next of a page of the same query, asks for what follows that page,
	// whatever was added or removed meanwhile. Page is not looked at then. PageSize
	// may be another.
	Cursor   string
	Asc      bool // oldest first; newest first by default
	Page     int  // from 1; 0 means 1; empty beyond the last
	PageSize int  // 0 means 20
	// NoTotal: LogPage.Total may be 0, as a store may take long to count.
	NoTotal bool
}

// MaxLogPage bounds LogQuery.PageSize.
const MaxLogPage = 10_000

// Validate reports the first field whose value is not allowed, as a *FieldError.
// Stores call it before they answer.
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
		return invalid.Field("deliver", "source_kind", invalid.Cut(string(q.SourceKind), 64), `"monitor" or "rule", or none for all`)
	}
	switch q.Via {
	case "", ViaWebhook, ViaHandler, ViaWebSocket:
	default:
		return invalid.Field("deliver", "via", invalid.Cut(string(q.Via), 64), `"webhook", "handler" or "websocket", or none for all`)
	}
	switch q.State {
	case "", StatePending, StateRetrying, StateDelivered, StateFailed:
		return nil
	}
	return invalid.Field("deliver", "delivery_status", invalid.Cut(string(q.State), 64), `"pending", "retrying", "delivered" or "failed", or none for all`)
}

// LogEntry is a delivery with its attempts.
type LogEntry struct {
	Delivery
	Log []Attempt // in the order in which they were settled
}

// FirstAttemptAt is when the first recorded attempt began, zero before one is.
func (e *LogEntry) FirstAttemptAt() time.Time {
	if len(e.Log) == 0 {
		return time.Time{}
	}
	return e.Log[0].At
}

// AcknowledgedAt is when the receiver had accepted the delivery: the end of the
// attempt that did it, which is the last. It is zero before that.
func (e *LogEntry) AcknowledgedAt() time.Time {
	if e.State != StateDelivered || len(e.Log) == 0 {
		return time.Time{}
	}
	last := e.Log[len(e.Log)-1]
	return last.At.Add(last.Duration)
}

// LogPage is one page of the delivery log and how many match in all, on
// whatever page.
type LogPage struct {
	Entries []LogEntry
	Total   int
	// Next is the Cursor for what follows this page, "" when nothing does or the
	// page is empty. What it says is the store's own affair; it stays good, also
	// when the entries that it was made of are removed.
	Next string
}

// BadCursor is the error of Deliveries for a Cursor that is no Next.
func BadCursor(cursor string) error {
	return invalid.Field("deliver", "cursor", invalid.Cut(cursor, 64), "the Next of a page of the same query")
}

// Sender brings one delivery to its endpoint. The webhook sender is one; an
// embedding program adds its own by URL scheme. Send is called from many
// goroutines, must return when ctx ends, and must be ready to see the same
// delivery again.
type Sender interface {
	Send(ctx context.Context, d *Delivery) Result
}

// Result is the outcome of one attempt.
type Result struct {
	// OK means the receiver took it: nothing more is sent.
	OK bool
	// Permanent means that no retry can help.
	Permanent  bool
	StatusCode int
	// Error is what went wrong, without internal addresses. The dispatcher cuts it
	// to 1 KiB.
	Error string
	// ResponsePreview is the start of the answer's body, cut to 4 KiB; of one that
	// is not text it says so.
	ResponsePreview string
	// RetryAfter is how long the receiver asked to wait, 0 when it did not. The
	// delivery waits so long, at least 1 s, and the attempt uses up no retry, until
	// one delivery has waited for an hour in all. It is not looked at when OK or
	// Permanent is set.
	RetryAfter time.Duration
}
