// Package transfer copies all that a store has into another one, of the same kind or of another.
//
// A store takes part as a Store: it reads its rows in the neutral form, which are the values of the
// ports, and writes rows of that form. The rows come in parts, in the order of Part. A page of rows is
// written in one transaction, together with the place where the copy goes on: so a copy that was cut
// goes on with the first page that is not there. Only a page or two are in memory at a time.
//
// # Who may use the stores
//
// No engine may have one of the two open. An SQLite file is locked as a Store locks it. In a store
// that engines share, a lease that is not over is refused at the beginning; who joins the source later
// is not noticed until Check. The target is empty at the beginning. Until the copy is complete it has
// a mark in place of its version, and no Store opens it. The mark goes last, after Check.
//
// # What the stores do not share
//
//   - The numbers of rows are of the store. In SQL tables events are numbered anew in the order in
//     which the source has them, by owners if that is Redis, and a delivery stands after its event
//     again, so that one made by a replay may change its place in the log. In Redis, records,
//     deliveries and ledger entries are numbered in the order in which they come.
//   - The last number of an owner's events is Owner.Last. In SQL tables it is removed_seq, or that of
//     an event. In Redis the number from which the owner's events begin is found from the events.
//   - In Redis an event has a turn, to tell whether its item in the list settled counts. In a copy it
//     begins at zero.
//   - Redis keeps Delivery.Waited in milliseconds: Check compares these.
//   - SQL tables may have owners without a balance and without a number. These are left out, as are
//     sums, queues and lists that follow from other rows: each store makes its own.
//   - The epoch of the numbers, and that of the ids of deliveries, are two values. SQLite keeps the
//     second apart only if they differ.
//   - The terms of a fleet, answers to repeated calls and the count of beats are not copied: they
//     mean something only to engines that have the source open.
package transfer
