// Package billing charges credits for streams and requests. It has prices, balances and the
// ledger of charges.
//
// Amounts are Credits: 64-bit integers that count thousandths of a credit, so sums are exact. A
// Ledger is append-only and idempotent by id. No balance ever falls below zero. Pricing is a
// price list; Presets is the default one.
//
// # Requests
//
// A request's price is first reserved. It is charged when the answer has been sent. A request
// that fails, panics or dies with its process costs nothing. Use Hold:
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
//   - A Meter charges a stream for each minute of the wall clock that begins while the stream is
//     active, and for the minute in which the Meter starts. The minute in which a stream is
//     created or resumed is free.
//   - The minutes of a day, from midnight to midnight UTC, cost exactly the price per
//     day. Two minutes differ by at most a thousandth of a credit.
//   - Each minute of a stream is one entry, with an id made from the stream and the minute (see
//     ChargeID). So it is charged once, even by several Meters on one store or if the clock is
//     set back.
//   - A Meter may miss the tick of a minute because the store failed or the machine was busy. The
//     next tick charges the missed minutes of streams that are still active, at most the last 60.
//     If the clock jumps, it charges no more minutes than have really passed. Nothing is charged
//     for the time in which no process ran.
//   - When a node of a fleet dies, the node that takes over its owners also charges the minute
//     that began in between.
//   - If the ledger is too slow to charge all owners in one tick, the next tick begins with the
//     owners that are left. It also charges them for the missed minute.
//   - A tick goes through an owner's active streams, oldest first. A stream goes on if the
//     credits left by older streams cover its uncharged minutes and its next hour. Otherwise it
//     is paused, and its uncharged minutes are free. A younger, cheaper stream may go on although
//     an older one is paused.
//   - The tick then resumes paused streams, oldest first, as long as the remaining credits cover
//     the next 75 minutes of each. So a top-up takes effect within a minute. A resumed stream
//     finds the posts that were published while it was paused.
//   - A tick charges all owners before it pauses or resumes streams. If the time is too short,
//     the next tick pauses and resumes the rest.
//   - An engine creates or resumes a stream, or raises its price, only if the owner's credits
//     cover the next hour of all active streams together (see Meter.Covered). The transaction that
//     stores the change checks this. If a charge takes the credits meanwhile, the next tick pauses
//     the streams that are not covered.
package billing
