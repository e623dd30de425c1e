// Package accounts keeps the accounts of a shard: up to when an account was read, which
// posts it showed, and which sources subscribe to it.
//
// There may be millions of accounts. Each has a slot, a small number, and a struct of 72
// bytes in a slab by slot. Outside it are its name, its window of seen posts and some 5 bytes
// of the index by name; what few accounts have, such as a second subscriber or failures, is
// behind a pointer.
package accounts
