// Package crashpoint lets tests kill the process at marked points in the code. The tests then
// check that a store has kept its promises.
//
// A store calls Hit at critical points, such as inside a transaction:
//
//	crashpoint.Hit("sqlite.tx.written") // before COMMIT
//
// Without a crash test, Hit only makes an atomic load. A crash test arms a point. The process
// then kills itself at that point with SIGKILL: it flushes and closes nothing, and runs no
// deferred function.
package crashpoint
