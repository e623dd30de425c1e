// Package fleet defines the ports through which several engines share a store, and the terms for
// it. storage.Sharing joins the ports; an engine with Config.Fleet uses them.
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
//   - A fence is a term and its generation. A write that depends on a node's parts shows
//     the node's fence, and the store refuses it with ErrFenced unless that is the present
//     fence of the term. So a write of a node that was stopped, cut off or replaced is
//     refused, however late it arrives.
//   - A lease is the time for which a node keeps its term without a beat. When it is
//     over, by the store's clock, another node may end the term and take its parts.
//
// The store assigns parts, atomically, to the node that asks first; there is no leader. Each
// node asks for its share, and gives back parts beyond it.
//
// Feed lists the changes of monitors, rules, endpoints and keys, through whichever node they
// were made. Signals are hints that let a node notice changes without waiting for its next look;
// any of them may be lost. Answers keeps the answers to requests, so that a repeated request is
// carried out once, whichever node it reaches.
package fleet
