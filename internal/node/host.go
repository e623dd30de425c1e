package node

import (
	"context"

	"github.com/streamwatch/streamwatch/fleet"
)

// Host is the engine of a node. Take, Give and Lost are called one at a time. Their contexts end
// with the term or with Run; they must return soon afterwards. The other methods may be called at
// the same time as these, and must not block.
type Host interface {
	// Take begins work for the parts in taken, from the records and cursors in the store. The
	// store assigned the parts in its answer to a beat. own has all parts of the node, including
	// taken. After an error Take is called again, perhaps with further parts.
	Take(ctx context.Context, own, taken fleet.Set) error
	// Give stops work for the parts in given. own has the parts that the node keeps. Give returns
	// when no poll, commit or send for given is under way. After an error the node keeps the
	// parts and calls Give again with the same arguments.
	Give(ctx context.Context, own, given fleet.Set) error
	// Lost stops all work, because the term has ended and other nodes may have the parts. A new
	// term begins afterwards.
	Lost()

	// Hold(true) stops polls, commits and sends while the node does not trust its term, and
	// Hold(false) resumes them. The node keeps its parts.
	Hold(hold bool)
	// Budgets returns the budgets that the fleet shares.
	Budgets() []Budget
	// Grant sets the node's share of a budget, in the unit of Budget.Total. It is 0 when a term
	// begins.
	Grant(budget string, rate float64)
	// Signal is called, from one goroutine, with each SignalChanged, SignalDue, SignalHead,
	// SignalClosed and SignalLook of another node.
	Signal(s fleet.Signal)
	// Epoch sets the epoch of the event numbers: see fleet.State. It is called when a term
	// begins and when the epoch has changed.
	Epoch(epoch uint64)
}

// Budget is a rate that the nodes share by their demands.
type Budget struct {
	Name  string
	Total float64 // for all nodes together
	// Demand is how much the node would use, in a unit that is the same for all nodes. If the
	// demand of all nodes is 0, the shares are equal.
	Demand float64
	// Targets is the number of accounts that Demand is for, or 0. If a node's mean demand per
	// target is below the fleet's mean, the fleet's mean counts instead. Accounts that are rarely
	// polled may post often, and only more polls can show it.
	Targets float64
}
