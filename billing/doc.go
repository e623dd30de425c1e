// Package billing counts credits: prices of streams and requests, balances, and the
// ledger entries behind them.
//
// Amounts are Credits, 64-bit integers that count thousandths of a credit, so sums are
// exact. A Ledger is append-only and idempotent by id, and no balance ever falls below
// zero. Pricing is a price list; Presets is the default one.
//
// # Requests
//
// A request's price is reserved first, and charged once its answer has been sent. A
// request that fails, panics or dies with its process costs nothing. Use Hold:
//
//	charge, err := billing.Hold(ctx, ledger, billing.Request{ID: id, Owner: owner, Endpoint: "users", Price: price})
//	if errors.Is(err, billing.ErrInsufficient) { … } // 402
//	defer charge.Release(ctx)
//	… answer …
//	err = charge.Commit(ctx)
//
// # Streams
//
// A Meter charges active streams by the minute. An engine runs one if its Config has
// billing. The rules are:
//
//   - A Meter charges a stream for each minute of the wall clock at whose beginning the
//     stream is active, and for the minute in which the Meter starts. The minute in which
//     a stream is created or resumed is free.
//   - The minutes of a day, from midnight to midnight UTC, cost exactly the price per
//     day. Two minutes differ by at most a thousandth of a credit.
//   - Each minute of a stream is one entry with an id of its own (see ChargeID). So it is
//     charged once, even by several Meters on one store or if the clock is set back.
//   - Minutes without a tick, because the store failed or the machine was busy, are
//     charged later if the stream was active at an earlier tick and still is: at most
//     the last 60, and no more minutes than have really passed if the clock jumps.
//     Nothing is charged for the time in which no process ran.
//   - If the ledger is too slow to charge all owners in one tick, the next tick begins
//     with those that are left, and charges them for the missed minute, too.
//   - A tick goes through an owner's active streams, oldest first. A stream goes on if
//     the credits left by the streams before it cover what it owes and its next hour.
//     Otherwise it is paused, and what it owes is not charged. A younger, cheaper stream
//     may go on although an older one is paused.
//   - The tick then resumes paused streams, oldest first, if the credits that are left
//     cover the next 75 minutes of each. So a top-up takes effect within a minute. A
//     resumed stream finds the posts that were published while it was paused.
//   - A tick charges all owners before it pauses or resumes streams. If it has no time for
//     all these changes, the next tick makes the rest.
//   - Before an engine creates, resumes or raises the price of a stream, it asks Covers
//     about the next hour of all the owner's active streams together. In one engine, and
//     in a fleet, an owner's changes are made one at a time. Other processes that share a
//     store do not wait for each other: the next tick pauses the streams not covered.
package billing
