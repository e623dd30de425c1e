package node

import (
	"context"

	"github.com/streamwatch/streamwatch/fleet"
)

// Host is the engine of a node. Take, Give, Apply, Reread and Lost are called one at a
// time; their contexts end when the term does, or with Run, and they return soon
// after. The other methods may be called at the same time as these, and do not block.
type Host interface {
	// Take begins the parts taken, from what the store has now: they are the node's
	// since the last beat. All that the node has is own. After an error it is tried
	// again, less what has been given meanwhile.
	Take(ctx context.Context, own, taken fleet.Set) error
	// Give stops the parts given, so that own is what stays. It returns when nothing of
	// given is polled, committed or sent any more. After an error they are not given,
	// and it is tried again with the same.
	Give(ctx context.Context, own, given fleet.Set) error
	// Lost stops everything and gives nothing back: the term has ended, and others have
	// the parts. A new term is begun afterwards, with Reread and Take.
	Lost()
	// Apply follows the records that some changes name, in order. After an error it is
	// tried again with the same.
	Apply(ctx context.Context, changes []fleet.Change) error
	// Reread follows all records: a term begins, or changes are not known any more.
	// After an error it is tried again.
	Reread(ctx context.Context) error

	// Hold stops polls, commits and sends while the node does not trust its term, and
	// lets them go on. Nothing is given up by it.
	Hold(hold bool)
	// Budgets are those that the fleet shares.
	Budgets() []Budget
	// Grant sets the node's share of a budget. It is 0 when a term begins.
	Grant(budget string, rate float64)
	// Says is for the other nodes, up to 8 KiB: see Member.Says.
	Says() []byte
	// Signal is called for due, head and closed of other nodes, and for look, from
	// whatever has been missed, by one goroutine.
	Signal(s fleet.Signal)
	// Epoch tells the epoch of the numbers of events, when a term begins and when it has
	// changed.
	Epoch(epoch uint64)
}

// Budget is a rate that the nodes share by their demands.
type Budget struct {
	Name  string
	Total float64 // for all nodes together
	// Demand is what the node would use, in any unit that is the same for all. When
	// nobody has one the shares are equal.
	Demand float64
	// Targets is how many things the demand is of, 0 where that does not matter. None is
	// counted with less than all of the fleet have in the mean, so that what is seldom
	// looked at, and so not known to be busy, is looked at all the same: parts are alike.
	Targets float64
}
