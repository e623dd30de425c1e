// Package receipt is the record of a latency benchmark: what was posted, what
// arrived, and when, as lines of JSON that are signed at the end. All figures of
// package report follow from it.
//
//	line 1          Run     schema, settings, environment, public key
//	then            Post    one for each post that was due, in that order
//	then            Arrival one for each post in a request or frame, as they arrived
//	last but one    Finish  when it ended, and what was left out
//	last            Seal    SHA-256 of all lines before, and its Ed25519 signature
//
// Times are nanoseconds on the runner's monotonic clock since Run.Started. The
// seal shows that nobody without the runner's key has changed a line since; it
// cannot show that the runner wrote down what happened.
package receipt
