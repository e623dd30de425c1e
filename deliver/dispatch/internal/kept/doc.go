// Package kept remembers which deliveries wait in the outbox because of their receiver, so
// that they can be sent at once when the receiver changes.
package kept
