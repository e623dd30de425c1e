// Package fleet defines the ports through which several engines share a store, two fields of
// storage.Ports; an engine with Config.Fleet uses them.
//
// Engines that share a store are nodes of a fleet. They need no connection to each other:
// the store says which node has which parts, and refuses the writes of a node that has lost
// its parts.
//
//   - A part is one of 1,024 fixed shares of all keys: accounts, queries, endpoints and
//     owners. PartOf returns the part of a key. A node polls the accounts and queries of
//     its parts, and sends the deliveries to their endpoints.
//   - A term is the membership of one node, from Members.Join until it leaves or is
//     ended. A node that comes back begins another.
//   - The generation of a term is a number that grows with every change of its parts.
//   - A fence is a term and its generation. A write that depends on a node's parts carries
//     the node's fence. If the term has another fence by then, the store refuses the write
//     with ErrFenced. So it refuses every write of a node that was stopped, cut off or
//     replaced, however late the write arrives.
//   - A lease is how long a node keeps its term without a heartbeat. When the lease is
//     over, by the store's clock, another node may end the term and take its parts.
//
// The store assigns parts, atomically, to the node that asks first; there is no leader. Each
// node asks for its share, and gives back parts beyond it. A passive node has no share while an active
// node lives: see ActiveWeight.
//
// Signals are hints that another node has changed something. Each hint saves a node the wait for
// its next look at the store, and may be lost.
package fleet
