// Package kept remembers which deliveries wait in the outbox for a receiver that is left
// alone, so that they can be sent at once when another one takes its place.
package kept
