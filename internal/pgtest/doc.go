// Package pgtest starts real PostgreSQL servers for tests, benchmarks and programs that kill servers
// on purpose. Each server is on a free loopback port, with a directory of its own. The servers end
// with the test, or with the process, however that ends.
//
//	server := pgtest.Single(t)
//	pool, err := pgxpool.New(ctx, server.NewDatabase(t))
//	…
//	server.Kill()    // as a power failure would, as far as processes can show it
//	server.Restart() // with what it has written
//
// Replicated starts a primary with a standby, and Bouncer puts a PgBouncer in front of a server. A
// program that has no testing.TB uses Start, whose result has the methods of a server with errors.
//
// The servers have PostgreSQL's own settings: fsync is on. A test can change that with lines of
// configuration, such as "fsync off". The URLs are of the role Role, which owns its databases and is
// no superuser, as with most providers. Text sorts by the rules of English, not by bytes, for the
// same reason: what needs the order of bytes must say COLLATE "C".
//
// # When the servers run
//
// Tests with real servers take seconds, and need programs that may be missing. They are skipped
// unless the environment has STREAMWATCH_POSTGRES=1 and the programs are found: in
// STREAMWATCH_POSTGRES_BIN if that names a directory, otherwise in PATH, otherwise in the newest
// directory /usr/lib/postgresql/*/bin. With STREAMWATCH_REQUIRE_POSTGRES=1, for continuous
// integration, a missing program is a failure. Of PostgreSQL 15 or later, initdb and postgres are
// enough, and Bouncer needs pgbouncer. In Debian these are in the packages postgresql and pgbouncer.
//
// They run only on Linux. PostgreSQL does not run as root: for root, the servers run as the user
// postgres, or nobody if there is none.
//
// Functions that take a testing.TB, and methods of their results, end the test if something fails.
// Call them on the test's goroutine.
package pgtest
