// Package accounts keeps the accounts of a shard. For each account it keeps the time up to which
// the account was read, the posts that it showed, and the sources that subscribe to it.
//
// There may be millions of accounts. Each has a slot, which is a small number, and a struct of 72
// bytes in a slab, indexed by slot. Its name, its window of seen posts and about 5 bytes of the
// index by name are stored elsewhere. State that few accounts have, such as a second subscriber or
// failures, is behind a pointer.
package accounts
