// Package interest decides which sources want a post: a monitor by a function,
// a rule by the program of its query. Where many rules watch one account, an
// Index finds all those that want a post in one lookup.
package interest
