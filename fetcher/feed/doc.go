// Package feed reads RSS 2.0, RSS 1.0, Atom and JSON Feed. An account is a feed's
// address.
package feed
