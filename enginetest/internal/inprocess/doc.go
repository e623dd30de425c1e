// Package inprocess connects an HTTP client to a handler without a socket, which
// also works in a testing/synctest bubble.
package inprocess
