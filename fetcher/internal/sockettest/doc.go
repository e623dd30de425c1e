// Package sockettest serves HTTP and WebSockets in memory, on a network that a
// test can cut and freeze. It works in a testing/synctest bubble.
package sockettest
