// Package billing counts credits: prices of streams and requests, balances, and the
// ledger entries behind them.
//
// Amounts are Credits, 64-bit integers of one thousandth of a credit, so that sums
// are exact. A Ledger is append-only and idempotent by id, and no balance ever falls
// below zero. Pricing says what things cost; Presets is the price list used by
// default.
//
// # Requests
//
// A request's price is held back first and charged once its answer is out; one
// that fails, panics or dies with its process costs nothing. Hold does that:
//
//	charge, err := billing.Hold(ctx, ledger, billing.Request{ID: id, Owner: owner, Endpoint: "users", Price: price})
//	if errors.Is(err, billing.ErrInsufficient) { … } // 402
//	defer charge.Release(ctx)
//	… answer …
//	err = charge.Commit(ctx)
//
// # Streams
//
// A Meter charges active streams by the minute. An engine runs one when its
// Config says so. These are its rules:
//
//   - A stream is charged for a minute of the wall clock if it is active at its
//     beginning, or when a Meter starts in it: not for the minute in which it is
//     created or resumed.
//   - The minutes of a day, from midnight to midnight UTC, cost exactly its price
//     per day; one differs from the next by at most a thousandth of a credit.
//   - A minute of a stream is one entry, whose id follows from both (see ChargeID). So
//     a minute is charged once, also by several Meters on one store, or by a clock that
//     passes it twice.
//   - Minutes for which there was no tick, because the store failed or the machine
//     was busy, are charged later: at most the last 60, at most as many as have
//     begun by a clock that does not jump, and only of streams that were active
//     at an earlier tick and still are. While no process ran nothing is charged.
//   - A tick that has no time to charge all owners, because the ledger is slow, leaves the
//     rest to the next one, which begins with them and charges these minutes, too.
//   - At each tick an owner's streams are taken in turn, the oldest first. A stream goes on
//     if the available credits, less those for the streams before it, cover what it owes
//     and its next hour; else it is paused, and the minute is not charged. A younger stream
//     that costs less may go on after an older one is paused.
//   - Credits that are left then resume paused streams, the oldest first, if they cover the
//     next 75 minutes of each: within a minute after a top-up, and at most one change of a
//     stream a minute. A resumed stream finds what was published meanwhile.
//   - A tick charges all owners before it pauses or resumes a stream. If there are more
//     such changes than it can make in its minute, the next tick makes the rest.
//   - Before a stream is created, resumed or raised in price, an engine asks Covers about
//     the next hour of all active streams of its owner together. It makes such changes of an
//     owner one after the other, and the nodes of a fleet take turns. Other processes that
//     share a store do not wait for each other: the next tick pauses what is not covered.
package billing
