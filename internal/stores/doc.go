// Package stores opens the store at an address: a SQLite file, a PostgreSQL or a Redis. Its errors are
// for the user of a program, and have no password.
package stores
