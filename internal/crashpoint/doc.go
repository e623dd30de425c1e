// Package crashpoint marks points in the code at which tests kill the process, to check that a
// store keeps its promises afterwards.
//
// A store calls Hit at critical points, such as inside a transaction:
//
//	crashpoint.Hit("sqlite.tx.written") // before COMMIT
//
// Without a crash test, Hit only makes an atomic load. A crash test arms a point. The process
// then kills itself at that point with SIGKILL: it flushes and closes nothing, and runs no
// deferred function.
package crashpoint
