// Package dispatch sends deliveries with retries. Each endpoint has a lane of its own, so a slow
// receiver does not delay others.
//
// The Dispatcher has components with one job each. The scheduler keeps the lanes and chooses the
// next attempt. Workers make the attempts. The settler records the outcomes. The reader claims due
// deliveries from the outbox. The replayer carries out replays. The health writer marks failing
// endpoints in their records. The states of a lane are recordState, gateState and pace. Several
// dispatchers may share an outbox, each with the lanes of some parts: see Dispatcher.SetParts.
//
// # Retries
//
// A failed attempt is repeated by Config.RetrySchedule. The endpoint's rate, its breaker or a busy
// process may delay a retry further. A receiver may ask for a wait by Retry-After with 429 or 503.
// All deliveries to the endpoint then wait. The attempt is logged and uses up no retry. When one
// delivery has waited for an hour in all, further such answers are failures like others. An
// endpoint that asks for waits counts as failing only if it has accepted nothing for an hour.
//
// Attempts usually begin in the order of the commits, but this is no promise. Several attempts are
// under way concurrently. Retries, and deliveries that waited for a breaker or a pause, come after
// newer deliveries. A receiver that needs an order sorts by the publication time in the body.
package dispatch
