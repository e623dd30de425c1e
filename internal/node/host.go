package node

import (
	"context"

	"github.com/streamwatch/streamwatch/fleet"
)

// Host is the engine of a node. Take, Give, Apply, Reread and Lost are called one at a
// time; their contexts end with the term or with Run, and they return soon after that. The
// other methods may be called at the same time as these, and do not block.
type Host interface {
	// Take begins the parts taken, from what the store has now: they are the node's
	// since the last beat. own are all parts of the node, these included. After an error
	// Take is called again, without parts that were given meanwhile.
	Take(ctx context.Context, own, taken fleet.Set) error
	// Give stops the parts given; own are the parts that the node keeps. It returns when
	// nothing of given is polled, committed or sent any more. After an error the parts are
	// not given, and Give is called again with the same.
	Give(ctx context.Context, own, given fleet.Set) error
	// Lost stops everything and gives nothing back: the term has ended, and others have
	// the parts. A new term begins afterwards, with Reread and Take.
	Lost()
	// Apply reads the changed records and applies them, in order. After an error it is
	// called again with the same changes.
	Apply(ctx context.Context, changes []fleet.Change) error
	// Reread reads and applies all records: a term begins, or the feed does not reach back
	// far enough. After an error it is called again.
	Reread(ctx context.Context) error

	// Hold stops polls, commits and sends while the node does not trust its term, and
	// with false lets them go on. No part is given up by it.
	Hold(hold bool)
	// Budgets returns the budgets that the fleet shares.
	Budgets() []Budget
	// Grant sets the node's share of a budget. It is 0 when a term begins.
	Grant(budget string, rate float64)
	// Signal is called, from one goroutine, with the signals of other nodes that are for
	// the engine: SignalDue, SignalHead, SignalClosed and SignalLook.
	Signal(s fleet.Signal)
	// Epoch sets the epoch of the numbers of events. It is called when a term begins and
	// when the epoch has changed.
	Epoch(epoch uint64)
}

// Budget is a rate that the nodes share by their demands.
type Budget struct {
	Name  string
	Total float64 // for all nodes together
	// Demand is what the node would use, in any unit that is the same for all nodes. If no
	// node has one, the shares are equal.
	Demand float64
	// Targets is how many accounts the demand is of, 0 where that does not matter. If the
	// mean demand of the node's targets is below that of the fleet's, it counts as the
	// fleet's: accounts that are seldom polled are not known to be busy, and still need
	// polls to become known.
	Targets float64
}
