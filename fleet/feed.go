package fleet

import (
	"context"
	"time"
)

// Feed numbers the changes of records: each creation, update and deletion of a monitor,
// rule, endpoint or key, in the same transaction as the change itself. So the numbers have
// the order of the changes, and when a number can be read, all lower ones can. Every method
// is safe for concurrent use; storage.Store has the rules for all ports.
type Feed interface {
	// Since returns up to limit changes with numbers above after, in order. It returns
	// ErrTooOld if some of them are not kept any more, or if after is above the last
	// number: then call Last, read all records, and go on after that number. At least the
	// last 10,000 changes are kept.
	Since(ctx context.Context, after uint64, limit int) ([]Change, error)
	// Last returns the number of the last change, 0 if there was none.
	Last(ctx context.Context) (uint64, error)
}

// Change is the creation, update or deletion of a record.
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

// Signals carries hints between nodes. Any of them may be lost, doubled or out of order. Its
// methods are safe for concurrent use.
type Signals interface {
	// Send sends a signal to all nodes that receive; whether this one gets it, too, is up
	// to the store. It does not wait for them. A store that cannot carry signals does
	// nothing.
	Send(ctx context.Context, s Signal) error
	// Receive calls fn, from one goroutine, for each signal until ctx ends, and reconnects
	// as often as needed. It returns ctx's error. After an interruption it calls fn with
	// SignalLook.
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
