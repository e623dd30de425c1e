package fleet

import (
	"context"
	"time"
)

// Feed numbers the changes of records: each creation, update and deletion of a monitor,
// rule, endpoint or key, in the same transaction as the change itself, so that the order
// of the numbers is that of the changes and a number that is seen has none below it to
// come. Every method is safe for concurrent use; what holds for every port is written at
// storage.Store.
type Feed interface {
	// Since returns up to limit changes with numbers above after, in order. The error
	// is ErrTooOld when some of them are not kept any more, or when after is above the
	// last number: then read all records, beginning with Last. The last 10,000 are
	// kept at least.
	Since(ctx context.Context, after uint64, limit int) ([]Change, error)
	// Last is the number of the last change, 0 when there was none.
	Last(ctx context.Context) (uint64, error)
}

// Change says that a record was created, updated or deleted.
type Change struct {
	N     uint64 // 1, 2, 3 …
	Kind  Kind
	Owner string
	ID    string
}

// Kind is what a Change is of.
type Kind string

// Kinds of records.
const (
	Monitor  Kind = "monitor"
	Rule     Kind = "rule"
	Endpoint Kind = "endpoint"
	Key      Kind = "key"
)

// Signals carries hints between nodes, of which any may be lost, doubled or out of order.
// Its methods are safe for concurrent use.
type Signals interface {
	// Send sends a signal to all nodes that receive, this one included or not. It
	// does not wait for them. A store that cannot carry signals does nothing.
	Send(ctx context.Context, s Signal) error
	// Receive calls fn, from one goroutine, for each signal until ctx ends, and
	// connects anew as long as that takes. The error is ctx's. After an interruption
	// fn is called with SignalLook.
	Receive(ctx context.Context, fn func(Signal)) error
}

// Signal is a hint to other nodes.
type Signal struct {
	Kind SignalKind `json:"kind"`
	Term string     `json:"term,omitempty"` // of the sender
	// N is the number of a change in SignalChanged and SignalApplied, and that of the
	// owner's last event in SignalHead.
	N uint64 `json:"n,omitempty"`
	// Key is an owner in SignalHead, and a bucket of a source in SignalClosed.
	Key string `json:"key,omitempty"`
	// Parts are those with something to do in SignalDue.
	Parts []Part `json:"parts,omitempty"`
	// Until is when the bucket opens.
	Until time.Time `json:"until,omitzero"`
}

// SignalKind is what a signal says.
type SignalKind string

// Kinds of signals.
const (
	SignalChanged SignalKind = "changed" // the feed has reached N
	SignalApplied SignalKind = "applied" // the sender follows the feed up to N
	SignalDue     SignalKind = "due"     // deliveries of Parts are due
	SignalHead    SignalKind = "head"    // an owner has events up to N
	SignalClosed  SignalKind = "closed"  // a source refuses calls of a bucket
	SignalLook    SignalKind = "look"    // something may have been missed: look at everything
	SignalMembers SignalKind = "members" // parts are free, or members have come or gone
)
