// Package delivertest has a sample event for tests that send, sign or verify it, and runs dispatchers.
package delivertest
