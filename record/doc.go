// Package record defines the ports through which monitors, rules, endpoints and API keys are
// stored: Store keeps the records of all kinds, State keeps small values of the engine.
//
// A record has the fields that a store must find, count and check (owner, parent, name,
// status, size, price), and Data, which only its kind understands. A Change puts and deletes
// any number of records in one transaction and checks limits in it. So a monitor and its
// endpoint appear together, and two processes cannot both take the last place of a quota.
//
// The feed numbers the changes in the order of their commits. Whoever must know the records,
// such as an engine, reads all of them once with Scan and then follows the feed with Since.
//
// The package imports no other package of this module.
package record
