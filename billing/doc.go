// Package billing counts credits: what streams and requests cost, who has how
// many, and which entry made the balance what it is.
//
// Amounts are Credits, 64-bit integers of one thousandth of a credit, so that
// sums are exact. A Ledger is append-only and idempotent by id: the same entry
// twice is one entry, and no balance ever falls below zero. A request reserves
// its price first and commits or releases the reservation when its outcome is
// known:
//
//	err := ledger.Reserve(ctx, billing.Reservation{ID: reqID, Owner: owner, Amount: billing.Credit, ExpiresAt: soon})
//	…
//	err = ledger.Commit(ctx, reqID, billing.Entry{Kind: billing.KindRequest, Endpoint: "users"})
//
// Pricing says what things cost; Presets is the price list used by default.
package billing
