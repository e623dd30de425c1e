// Package accounts keeps the accounts of a shard: up to when an account was read, which
// posts it showed lately, and which sources subscribe to it.
//
// There may be millions of accounts. Each has a slot, a small number. State that every
// account has is kept in arrays by slot, without pointers; state that few have, such as a
// second subscriber, in maps by slot. An account takes 28 bytes, its name, its window of
// seen posts and some 5 bytes of the index by name.
package accounts
