package fleet

import (
	"context"
	"errors"
	"time"
)

// Errors of the ports, and of writes that show a fence.
var (
	// ErrFenced: the term has ended, or has another generation by now. Nothing was
	// changed.
	ErrFenced = errors.New("fleet: the term has ended, or its parts have changed")
	// ErrShared: a write showed no fence while the store has terms whose leases are
	// not over. Nothing was changed.
	ErrShared = errors.New("fleet: engines of a fleet share this store: start this one with Config.Fleet too, or stop the others first")
	// ErrTooOld: the feed does not reach back so far. Read all records anew.
	ErrTooOld = errors.New("fleet: the feed of changes does not reach back so far")
)

// Fence is a term and its generation. The zero value is that of an engine which is
// alone on its store.
type Fence struct {
	Term       string // random, without spaces
	Generation uint64 // from 1
}

// IsZero reports whether there is no term.
func (f Fence) IsZero() bool { return f.Term == "" }

// Members keeps who is in the fleet and has which parts. Times are the store's: its
// clock, not a node's. Every method is atomic, waits for the commits under way whose
// fence it changes, and is safe for concurrent use; what holds for every port is written
// at storage.Store.
type Members interface {
	// Join begins a term with generation 1 and without parts. One of a node of the same
	// name is ended first, whatever its lease. Of n.Seen it does what Beat does of
	// b.Seen.
	Join(ctx context.Context, n Node) (State, error)
	// Beat prolongs a lease, and returns the parts that the term now has. In this
	// order it
	//
	//  1. refuses a Fence whose term is unknown, or whose generation is above the
	//     term's, with ErrFenced. A generation below is let in: the answer of an
	//     earlier Beat was lost;
	//  2. draws another epoch if b.Seen is above the count of beats, or b.Lost is
	//     set, and makes the count at least b.Seen: see State.Epoch;
	//  3. takes the parts of b.Give from the term, as far as it has them;
	//  4. moves every lease that ends later than now + its length to that moment: the
	//     clock may have been ahead;
	//  5. ends the terms of b.Suspects whose lease is over, but not its own, and frees
	//     their parts and grants;
	//  6. gives the term free parts, other than those of b.Give, until it has b.Want.
	//     Which ones is the store's choice;
	//  7. raises the generation by one if 3 or 6 changed the parts;
	//  8. replaces the term's grants by what b.Asks gets: see Ask;
	//  9. keeps Weight, Applied and Says, counts the beat, and makes the lease end at
	//     now + the length that Join was given.
	//
	// A term is not ended because its lease is over: as long as nobody suspects it, it
	// goes on where it was.
	Beat(ctx context.Context, b Beat) (State, error)
	// Leave ends a term, and frees its parts and grants. It looks at f.Term alone. An
	// unknown one is no error.
	Leave(ctx context.Context, f Fence) error
	// Look returns the present state without the fields that are about one term.
	Look(ctx context.Context) (State, error)
}

// Node is what a member says of itself when it joins.
type Node struct {
	Name   string        // 1 to 64 bytes, one term a name
	Weight float64       // its share of the parts, above 0
	Lease  time.Duration // from 1 s to 10 min, in whole milliseconds
	// Fingerprint is a hash of the settings that all nodes must share.
	Fingerprint string
	Seen        uint64 // State.Beats as this process saw it last, 0 for never
}

// Beat is a sign of life.
type Beat struct {
	Fence    Fence
	Give     Set      // given up: nothing of these is polled or sent any more
	Want     int      // how many parts the node would have in all
	Suspects []string // terms that the node has not seen beat for as long as their leases
	Weight   float64  // as in Node
	// Applied is the number of the last change of the feed that the node follows,
	// like all those before it.
	Applied uint64
	Seen    uint64 // as in Node
	// Lost says that the node has seen numbers of events given twice: the store has
	// lost its last writes.
	Lost bool
	Asks []Ask // one for each budget
	// Says is for the other nodes, up to 16 KiB. The store does not look into it.
	Says []byte
}

// Ask is what a node would have of a budget that the fleet shares, such as the calls a
// second to a source. It is granted
//
//	min(Rate, Total − the grants of the other terms), at least 0,
//
// so that the sum of the grants is never above the Total that all ask with. One that
// asks with a lower Total than the others gets what they leave of it.
type Ask struct {
	Budget string
	Total  float64
	Rate   float64
}

// State is the fleet as the store has it.
type State struct {
	Fence Fence         // of the term that asked
	Own   Set           // its parts
	Lease time.Duration // the length of its lease, which begins anew with this answer
	// Grants are what the term has of the budgets that it asked for last.
	Grants map[string]float64

	Members []Member // all terms, the one that asked included, by name
	Free    int      // parts that nobody has
	Feed    uint64   // number of the last change, 0 for none
	// Beats counts all joins and beats that the store has taken. It is lower than
	// before only when the store has lost its last writes.
	Beats uint64
	// Epoch is drawn anew when that happens, never twice the same: numbers of events
	// of another epoch may be those of other events. It is 0 in a store that has
	// lost nothing.
	Epoch uint64
}

// Member is a term as the others see it.
type Member struct {
	Node   Node // without Seen; Weight is that of the last beat
	Term   string
	Parts  Set
	Grants map[string]float64
	// Beats counts those of the term. Whether it lives is for each node to judge, by
	// its own clock, from how long this has not changed.
	Beats   uint64
	Over    bool // its lease is over, by the store's clock
	Applied uint64
	Says    []byte
}
