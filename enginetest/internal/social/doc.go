// Package social holds what the fake platforms have in common: accounts and posts as
// the port gives them, ids that tell times, and a rate limit.
package social
