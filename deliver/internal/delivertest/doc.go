// Package delivertest has the event that the tests of delivery send, sign and
// verify.
package delivertest
