// Package accounts keeps the accounts of a shard: how far each was read, what
// it showed lately, and who subscribes to it.
//
// There may be millions. An account is a slot, a small number; what all accounts
// have lies in arrays by slot, without pointers, and what few have, such as a
// second subscriber, in maps by slot. An account takes
// 28 bytes, its name, its window of seen posts and some 5 bytes of the index
// that finds it by name.
package accounts
