// Package sockettest serves HTTP and WebSockets over connections in memory. A test can cut or
// freeze them. The package works in a testing/synctest bubble.
package sockettest
