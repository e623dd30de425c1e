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
	// ErrTooOld: the feed does not reach back so far. Read all records again: see
	// Feed.Since.
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

// Members keeps the terms of a fleet and their parts. All times are by the store's clock, not
// by a node's. Every method is atomic, waits for the commits under way whose fence it
// changes, and is safe for concurrent use; storage.Store has the rules for all ports.
type Members interface {
	// Join begins a term with generation 1 and without parts. It first ends the term of a
	// node of the same name, whatever its lease. It treats n.Seen as Beat treats b.Seen.
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
	//  4. shortens every lease that ends later than now + its length to that moment: the
	//     clock may have been ahead;
	//  5. ends the terms of b.Suspects whose lease is over, but not its own, and frees
	//     their parts and grants;
	//  6. gives the term free parts, other than those of b.Give, until it has b.Want.
	//     Which ones is the store's choice;
	//  7. raises the generation by one if 3 or 6 changed the parts;
	//  8. replaces the term's grants by what is granted for b.Asks: see Ask;
	//  9. keeps Weight, Applied and Says, counts the beat, and makes the lease end at
	//     now + the length that Join was given.
	//
	// The end of its lease alone does not end a term: as long as no other node suspects
	// it, its next Beat goes on with the same term.
	Beat(ctx context.Context, b Beat) (State, error)
	// Leave ends the term f.Term, whatever the generation, and frees its parts and grants.
	// For an unknown term it does nothing.
	Leave(ctx context.Context, f Fence) error
	// Look returns the present state, without the fields of the term that asks.
	Look(ctx context.Context) (State, error)
}

// Node describes a member when it joins.
type Node struct {
	Name   string        // 1 to 64 bytes; there is one term of a name
	Weight float64       // its share of the parts, above 0
	Lease  time.Duration // from 1 s to 10 min, in whole milliseconds
	// Fingerprint is a hash of the settings that all nodes must share.
	Fingerprint string
	Seen        uint64 // State.Beats as this process saw it last, 0 for never
}

// Beat is a sign of life, with what a node asks of the store.
type Beat struct {
	Fence    Fence
	Give     Set      // parts that the node gives up: it polls and sends nothing of these any more
	Want     int      // how many parts the node asks for in all
	Suspects []string // terms of which the node has seen no beat for the length of their leases
	Weight   float64  // as in Node
	// Applied is the number of a change in the feed: the node has applied it and all
	// changes before it.
	Applied uint64
	Seen    uint64 // as in Node
	// Lost says that the node has seen two events with the same number: the store has
	// lost its last writes.
	Lost bool
	Asks []Ask // one for each budget
	// Says is a message for the other nodes, up to 16 KiB, which the store does not read.
	Says []byte
}

// Ask asks for a share of a budget of the fleet, such as the calls a second to a source. The
// store grants
//
//	min(Rate, Total − the grants of the other terms), at least 0,
//
// so that the sum of the grants never exceeds the Total if all nodes ask with the same one. A
// node that asks with a lower Total gets what the grants of the others leave of that.
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
	// Beats counts all joins and beats that the store has recorded. It falls only when
	// the store loses its last writes.
	Beats uint64
	// Epoch is drawn at random after each loss of writes, so that no two are the same; it
	// is 0 before the first loss. Equal numbers in different epochs may be those of
	// different events.
	Epoch uint64
}

// Member is a term as the others see it.
type Member struct {
	Node   Node // without Seen; Weight is that of the last beat
	Term   string
	Parts  Set
	Grants map[string]float64
	// Beats counts the beats of the term. Each node judges by its own clock, from how
	// long the count has not changed, whether the member is alive.
	Beats   uint64
	Over    bool // its lease is over, by the store's clock
	Applied uint64
	Says    []byte
}
