// Package node is one engine's membership of a fleet: see package fleet.
//
//	n, err := node.New(node.Config{Node: self, Members: s.Members(), Feed: s.Feed(), Signals: s.Signals(), Host: engine})
//	err = n.Join(ctx)  // a term begins, without parts
//	go n.Run(running)  // takes its share of the parts, and gives what is above it
//	…
//	stop()             // of running; then, when Run has returned:
//	err = n.Leave(ctx) // gives all, and ends the term
//
// A node beats four times a lease, and each time asks for its share: the parts
// divided by the weights of the members that live. What it has above that it gives,
// a quarter of all parts at most in a beat: first its Host stops what belongs to
// them, then the beat tells the store. What the store hands out is begun after the
// answer, never before.
//
// A node trusts its term until shortly before the lease would be over, counted from
// before the beat was sent; without another good beat its Host is held from then on.
// It takes another member for dead when that one's lease is over by the store's clock,
// and no beat of it was seen for a lease by this node's own: so that no jump of a
// clock ends a term that beats.
package node
