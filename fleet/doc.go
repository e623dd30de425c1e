// Package fleet has the ports by which several engines share a store, and the words
// for it: storage.Sharing joins the ports, an engine's Config.Fleet uses them.
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
//   - The generation of a term grows with every change of its parts.
//   - A fence is a term and its generation. A write that depends on a node's parts shows
//     the node's fence, and the store refuses it with ErrFenced unless that is the present
//     fence of the term. So a write of a node that was stopped, cut off or replaced is
//     refused, however late it arrives.
//   - A lease is the time for which a node keeps its term without a beat. When it is
//     over, by the store's clock, another node may end the term and take its parts.
//
// The store hands out parts, atomically and to whoever asks first; there is no leader. Each
// node asks for its share, and gives back what it has beyond it.
//
// Feed has the changes that were made through any node: of monitors, rules, endpoints and
// keys. Signals are hints that save a node the wait until it looks by itself; any of them
// may be lost. Answers keeps the answers to requests, so that a request that a client
// repeats is carried out once, whichever node it reaches.
package fleet
