// Package ssrftest has attempts to reach what must not be reached from a server, for
// the tests of netguard and of what stands behind it.
package ssrftest
