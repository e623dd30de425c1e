// Package dispatch sends deliveries with retries, through one lane for each endpoint: a
// slow receiver delays nobody else.
//
// The Dispatcher has components with one job each. The scheduler holds the lanes and
// decides which attempt is made next; workers make it; the settler records its outcome;
// the reader claims due deliveries from the outbox; the replayer carries out replays; the
// health writer marks failing endpoints in their records. The state of a lane decides what
// it does: see recordState, gateState and pace. Several dispatchers may share an outbox, each with the
// lanes of some parts: see Dispatcher.SetParts.
//
// # Retries
//
// A failed attempt is repeated by Config.RetrySchedule. The endpoint's rate, its breaker or
// a busy process may delay a retry further. When the receiver asks for a wait, by
// Retry-After with 429 or 503, the delivery and all others to the endpoint wait; the
// attempt is logged and uses up no retry. After an hour of such waits of one delivery, such
// answers are failures like others. An endpoint that asks for waits is not failing, unless
// it has accepted nothing for an hour.
//
// Attempts begin about in the order of the commits, which is no promise: several are under
// way at once, and retries and deliveries that waited for a breaker or a pause come after
// newer ones. A receiver that needs an order sorts by the time of publication in the body.
package dispatch
