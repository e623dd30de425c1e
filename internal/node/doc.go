// Package node implements an engine's membership of a fleet: see package fleet.
//
//	n, err := node.New(node.Config{Node: self, Members: s.Members(), Signals: s.Signals(), Host: engine})
//	err = n.Join(ctx)  // a term begins, without parts
//	go n.Run(running)  // takes its share of the parts, and gives parts beyond it away
//	…
//	stop()             // of running; then, when Run has returned:
//	err = n.Leave(ctx) // gives all parts away, and ends the term
//
// A node sends a heartbeat to the store, called a beat, ten times in each lease; in a fleet of more
// than ten members fewer times, down to four. The answer has the beats of the others. Each beat asks
// for the node's share of all parts, in proportion to the weights of the living members. While an
// active member lives, a passive one has no share. A node gives away the parts beyond its share, at
// most a quarter of all parts per beat. First its Host stops the work for them. Then the next beat
// returns them to the store. The Host begins work for new parts only after the store has assigned
// them in its answer to a beat.
//
// A node trusts its term until shortly before the lease ends. It counts the lease from the time
// before it sent the last successful beat. After that, the Host stops polls, commits and sends
// until a beat succeeds. A node takes another member for dead on two conditions: the member's
// lease has ended by the store's clock, and the node has seen no beat of the member for a lease
// by its own clock. A member that sends beats therefore keeps its term even if a clock jumps.
package node
