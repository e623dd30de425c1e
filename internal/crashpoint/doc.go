// Package crashpoint marks points in the code at which tests kill the process, to check that a
// store keeps its promises afterwards.
//
// A store calls Hit at critical points, such as inside a transaction:
//
//	crashpoint.Hit("sqlite.tx.written") // before COMMIT
//
// Without a crash test, Hit only makes an atomic load. A crash test arms a point; the process
// then kills itself there with SIGKILL, so that nothing is flushed or closed and no deferred
// function runs.
package crashpoint
