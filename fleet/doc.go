// Package fleet has the ports by which several engines share a store, and the words
// for it: storage.Sharing joins the ports, an engine's Config.Fleet uses them.
//
// Engines that share a store are nodes of a fleet. There is nothing between them but
// the store: it says which node has what, and refuses the writes of one that has lost
// it.
//
//   - A part is one of 1,024 fixed shares of all keys: accounts, queries, endpoints and
//     owners. PartOf says which one has a key. A node polls the accounts and queries of
//     its parts, and sends what is for its endpoints.
//   - A term is the membership of one node, from Members.Join until it leaves or is
//     ended. A node that comes back begins another.
//   - The generation of a term grows with every change of its parts.
//   - A fence is a term and its generation. A write that depends on what a node has
//     shows its fence, and the store refuses it with ErrFenced unless that is the
//     term's present one: so no write of a node counts that was stopped, cut off or
//     replaced, however late it arrives.
//   - A lease is the time for which a node keeps its term without a beat. When it is
//     over, by the store's clock, another node may end the term and take its parts.
//
// Parts are handed out by the store, atomically and to whoever asks first; nobody
// leads. Each node asks for its share, and gives back what it has above it.
//
// Feed tells every node what was changed through the others: monitors, rules,
// endpoints and keys. Signals are hints, which make up for the time until a node would
// look by itself; any of them may be lost. Answers keeps what requests were answered, so
// that one that a client repeats is carried out once, whichever node it reaches.
package fleet
