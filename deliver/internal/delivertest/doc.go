// Package delivertest has a sample event for tests that send, sign or verify it.
package delivertest
