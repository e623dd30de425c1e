// Package inprocess connects an HTTP client to a handler without a socket. It works in a
// testing/synctest bubble, too.
package inprocess
