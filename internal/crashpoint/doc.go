// Package crashpoint names moments at which a process may be killed, to find
// out whether what a store has promised is still true afterwards.
//
// A store calls Hit where the moment matters, such as inside a transaction:
//
//	crashpoint.Hit("sqlite.tx.written") // before COMMIT
//
// That is one atomic load. Only a crash test arms a point; then the process
// kills itself there with SIGKILL, as an impatient operator or the kernel would:
// nothing is flushed, closed or deferred.
package crashpoint
