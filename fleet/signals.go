package fleet

import (
	"context"
	"time"
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
	// N is the number of the owner's last event, in SignalHead.
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
	SignalChanged SignalKind = "changed" // records have changed
	SignalDue     SignalKind = "due"     // deliveries of Parts are due
	SignalHead    SignalKind = "head"    // an owner has events up to N
	SignalClosed  SignalKind = "closed"  // a source refuses calls of a bucket until Until
	SignalLook    SignalKind = "look"    // signals may have been lost: look at everything
	SignalMembers SignalKind = "members" // parts are free, or members have come or gone
)
