// Package node implements an engine's membership of a fleet: see package fleet.
//
//	n, err := node.New(node.Config{Node: self, Members: s.Members(), Feed: s.Feed(), Signals: s.Signals(), Host: engine})
//	err = n.Join(ctx)  // a term begins, without parts
//	go n.Run(running)  // takes its share of the parts, and gives parts beyond it away
//	…
//	stop()             // of running; then, when Run has returned:
//	err = n.Leave(ctx) // gives all parts away, and ends the term
//
// A node sends a heartbeat to the store, called a beat, four times in each lease. Each beat asks
// for the node's share of all parts, in proportion to the weights of the living members. A node
// gives away the parts beyond its share, at most a quarter of all parts per beat: first its Host
// stops the work for them, then the next beat returns them to the store. The Host begins work
// for new parts only after the store's answer has assigned them.
//
// A node trusts its term until shortly before the lease ends, counted from the moment before it
// sent the last successful beat. After that its Host is held until a beat succeeds. A node takes
// another member for dead if that member's lease has ended by the store's clock and this node
// has seen no beat of it for a lease by its own clock. So a clock that jumps does not end the
// term of a node that sends beats.
package node
