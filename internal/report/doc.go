// Package report keeps what an engine says of itself: its figures over the last hour, day and week,
// what became of the deliveries of each endpoint in the last 24 hours, and the state of its sources.
//
// A Recorder collects them. It is saved in record.State, and read back after a restart. Read returns
// the reports of all engines on a store, also without an engine. Problems finds in the records of a
// store what needs a person.
package report
