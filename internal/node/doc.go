// Package node is one engine's membership of a fleet: see package fleet.
//
//	n, err := node.New(node.Config{Node: self, Members: s.Members(), Feed: s.Feed(), Signals: s.Signals(), Host: engine})
//	err = n.Join(ctx)  // a term begins, without parts
//	go n.Run(running)  // takes its share of the parts, and gives what is above it
//	…
//	stop()             // of running; then, when Run has returned:
//	err = n.Leave(ctx) // gives all, and ends the term
//
// A node beats four times a lease, and each time asks for its share: the parts divided by the
// weights of the living members. It gives the parts that it has beyond its share, at most a
// quarter of all parts in a beat: first its Host stops the work for them, then the next beat
// tells the store. Parts that the store hands out are begun after its answer, never before.
//
// A node trusts its term until shortly before the lease ends, counted from before the beat
// was sent; unless another beat succeeds, its Host is held from then on. It takes another
// member for dead when that member's lease has ended by the store's clock, and this node has
// seen no beat of it for the length of a lease by its own clock. So a clock that jumps ends no
// term that beats.
package node
