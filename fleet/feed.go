package fleet

import (
	"context"
	"time"
)

// Feed numbers the changes of records: each creation, update and deletion of a monitor, rule,
// endpoint or key. The store adds a change to the feed in the same transaction that makes it. So
// the numbers have the order of the changes, and once a number can be read, all lower ones can.
// Every method is safe for concurrent use; storage.Store has the rules for all ports.
type Feed interface {
	// Since returns up to limit changes with numbers above after, in order. It returns ErrTooOld if
	// the store has dropped some of them, or if after is above the last number. Then call Last,
	// read all records, and continue after the number from Last. The store keeps at least the last
	// 10,000 changes.
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

// Kind is the kind of record that a Change is about.
type Kind string

// Kinds of records.
const (
	Monitor  Kind = "monitor"
	Rule     Kind = "rule"
	Endpoint Kind = "endpoint"
	Key      Kind = "key"
)

// Signals carries hints between nodes. They may be lost, doubled or out of order. Its methods
// are safe for concurrent use.
type Signals interface {
	// Send sends a signal to all nodes that receive, possibly including this one. It does not
	// wait for them. In a store that cannot carry signals it does nothing.
	Send(ctx context.Context, s Signal) error
	// Receive calls fn for each signal, on one goroutine, until ctx ends. It then returns ctx's
	// error. It reconnects as often as needed. After an interruption it calls fn with SignalLook.
	Receive(ctx context.Context, fn func(Signal)) error
}

// Signal is a hint to other nodes.
type Signal struct {
	Kind SignalKind `json:"kind"`
	Term string     `json:"term,omitempty"` // of the sender
	// N is the number of a change in SignalChanged and SignalApplied. In SignalHead it is the
	// number of the owner's last event.
	N uint64 `json:"n,omitempty"`
	// Key is an owner in SignalHead. In SignalClosed it is the name of a source and its rate-limit
	// bucket.
	Key string `json:"key,omitempty"`
	// Parts has the parts with due deliveries, in SignalDue.
	Parts []Part `json:"parts,omitempty"`
	// Until is when the bucket opens again, in SignalClosed.
	Until time.Time `json:"until,omitzero"`
}

// SignalKind is the kind of a signal.
type SignalKind string

// Kinds of signals.
const (
	SignalChanged SignalKind = "changed" // the feed has reached N
	SignalApplied SignalKind = "applied" // the sender has applied the changes up to N
	SignalDue     SignalKind = "due"     // deliveries of Parts are due
	SignalHead    SignalKind = "head"    // an owner has events up to N
	SignalClosed  SignalKind = "closed"  // a source refuses calls of a bucket until Until
	SignalLook    SignalKind = "look"    // signals may have been lost: look at everything
	SignalMembers SignalKind = "members" // parts are free, or members have come or gone
)
