// Package dispatch sends deliveries with retries, through one lane for each endpoint,
// so that a slow receiver delays nobody else.
//
// The Dispatcher is made of parts with one job each. The scheduler holds the lanes and
// decides which attempt is made next; workers make it; the settler records what came of
// it; the reader claims from the outbox what is due; the replayer carries out replays;
// the health writer marks endpoints that fail in their records. What a lane does is
// decided by its state: see package lanestate. Several dispatchers may share an outbox, each with
// the lanes of some parts: see Dispatcher.SetParts.
//
// # Retries
//
// An attempt that fails is repeated by Config.RetrySchedule; the times are the earliest,
// as the endpoint's rate, its breaker or a busy process may add to them. When the
// receiver asks for a wait, by Retry-After with 429 or 503, the delivery and all others
// to the endpoint wait, and the attempt is logged and uses up no retry, for up to an hour
// in all for one delivery: then such answers are failures like others. An endpoint that
// asks for waits is not failing, unless it has taken nothing for an hour.
//
// Attempts begin about in the order of the commits, which is no promise: several are
// under way at once, and retries and what waited for a breaker or a pause come after
// newer ones. A receiver that needs an order sorts by the time of publication in the
// body.
package dispatch
