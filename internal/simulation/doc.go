// Package simulation tests the whole engine in virtual time: a day of hundreds of accounts with
// an outage and a restart, streams that break in every way, and a platform and a receiver that
// fail. Each test records the posts that were published, and compares them with the posts that
// arrived.
package simulation
