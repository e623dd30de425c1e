package fleet

import (
	"context"
	"errors"
	"time"
)

// Errors of the ports, and of writes that carry a fence.
var (
	// ErrFenced means that the term has ended, or that its generation has changed. The store has
	// changed nothing.
	ErrFenced = errors.New("fleet: the term has ended, or its parts have changed")
	// ErrShared means that a write carried no fence, although the store has a term with a valid
	// lease. The store has changed nothing.
	ErrShared = errors.New("fleet: engines of a fleet share this store: start this one with Config.Fleet too, or stop the others first")
)

// Fence is a term and its generation. An engine without Config.Fleet uses the zero value.
type Fence struct {
	Term       string // random, without spaces
	Generation uint64 // from 1
}

// IsZero reports whether there is no term.
func (f Fence) IsZero() bool { return f.Term == "" }

// Members keeps the terms of a fleet and their parts. All times are by the store's clock, not by a
// node's. Every method is atomic and safe for concurrent use. Before a method changes a fence, it
// waits for commits under way. storage.Store has the rules for all ports.
type Members interface {
	// Join begins a term with generation 1 and without parts. If a node with the same name has a
	// term, Join ends it first, even if its lease is not over. Join treats n.Seen as Beat treats
	// b.Seen.
	Join(ctx context.Context, n Node) (State, error)
	// Beat extends the lease of a term, and returns the term's parts. In this order it
	//
	//  1. returns ErrFenced if the term of b.Fence is unknown, or the fence's generation
	//     is above the term's. It accepts a lower generation, because the answer to an
	//     earlier Beat may have been lost;
	//  2. sets a new random epoch if b.Seen is above the count of beats or b.Lost is
	//     set, and makes the count at least b.Seen: see State.Epoch;
	//  3. takes the parts of b.Give from the term, except those that it does not have;
	//  4. makes every lease end at most its length from now: the clock may have been
	//     ahead when the lease was set;
	//  5. ends each term in b.Suspects, except the caller's own, if its lease is over,
	//     and frees its parts and grants;
	//  6. gives the term free parts, other than those of b.Give, until it has b.Want.
	//     The store chooses which ones;
	//  7. raises the generation by one if 3 or 6 changed the parts;
	//  8. replaces the term's grants by grants for b.Asks: see Ask;
	//  9. keeps Weight and Says, counts the beat, and makes the lease end at now + the
	//     length that Join was given.
	//
	// A term does not end with its lease. Until another node suspects the term, its next Beat
	// continues it.
	Beat(ctx context.Context, b Beat) (State, error)
	// Leave ends the term f.Term, whatever the generation, and frees its parts and grants.
	// For an unknown term it does nothing.
	Leave(ctx context.Context, f Fence) error
	// Look returns the present state. Fence, Own, Lease and Grants are zero.
	Look(ctx context.Context) (State, error)
}

// Node describes a member when it joins.
type Node struct {
	Name   string        // 1 to 64 bytes; a name has one term at a time
	Weight float64       // its share of the parts, above 0; below ActiveWeight the node is passive
	Lease  time.Duration // from 1 s to 10 min, in whole milliseconds
	// Fingerprint is a hash of the settings that all nodes must share.
	Fingerprint string
	Seen        uint64 // State.Beats as this process saw it last, 0 for never
}

// ActiveWeight is the least weight of an active node. A node with less is passive: it wants parts only
// while no active node lives, in proportion to the weights of the passive nodes. Stores need not know
// the difference.
const ActiveWeight = 0.001

// Passive reports whether the node is passive.
func (n Node) Passive() bool { return n.Weight < ActiveWeight }

// Beat is a heartbeat of a node, with its requests to the store.
type Beat struct {
	Fence    Fence
	Give     Set      // parts that the node gives up: it has stopped all work for them
	Want     int      // how many parts the node wants to have in total
	Suspects []string // terms from which the node has seen no beat for the length of their leases
	Weight   float64  // as in Node
	Seen     uint64   // as in Node
	// Lost is true if the node has seen two events with the same number. The store must then have
	// lost its last writes.
	Lost bool
	Asks []Ask // one for each budget
	// Says is a message for the other nodes, up to 16 KiB. The store does not interpret it.
	Says []byte
}

// Ask asks for a share of a budget of the fleet, such as the calls a second to a source. The
// store grants
//
//	min(Rate, Total − the grants of the other terms), at least 0.
//
// If all nodes ask with the same Total, the sum of the grants never exceeds it. A node that asks
// with a lower Total gets at most that Total less the grants of the others.
type Ask struct {
	Budget string
	Total  float64
	Rate   float64
}

// State is the state of the fleet in the store.
type State struct {
	Fence Fence         // of the term that asked
	Own   Set           // its parts
	Lease time.Duration // the length of its lease, which begins again with this answer
	// Grants has the rate that the store granted for each budget in the last Beat.Asks.
	Grants map[string]float64

	Members []Member // all terms, including the one that asked, sorted by name
	Free    int      // parts that no term has
	// Beats counts all joins and beats that the store has recorded. It falls only when
	// the store loses its last writes.
	Beats uint64
	// Epoch is 0 until the store first loses writes, and a new random number after each loss.
	// Different events may have the same number in different epochs.
	Epoch uint64
}

// Member is a term in State.Members.
type Member struct {
	Node   Node // without Seen; Weight is that of the last beat
	Term   string
	Parts  Set
	Grants map[string]float64
	// Beats counts the beats of the term. A node takes a member for dead if Over is true and the
	// count has not changed for the length of the member's lease, by the node's own clock.
	Beats uint64
	Over  bool // its lease is over, by the store's clock
	Says  []byte
}
