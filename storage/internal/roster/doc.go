// Package roster is the logic of fleet.Members, on terms in memory. A store calls it under its lock,
// or within a transaction that has read the terms and then writes those that have changed.
package roster
