// Package redistest starts real Redis servers for tests: a single one, a cluster, or a master with
// replicas and sentinels. Each server is on a free loopback port, with its data in t.TempDir. The
// servers end with the test.
//
//	server := redistest.Single(t, "appendfsync always")
//	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
//	…
//	server.Kill()    // as a power failure would, as far as a process can show it
//	server.Restart() // with what its append-only file holds
//
// Cluster and Sentinel build their groups with commands, so only the programs of the servers are
// needed. In Debian these are the packages redis-server and redis-sentinel, version 7.0 or later.
// The servers have an append-only file synced every second, no snapshots and no memory limit. A
// test can change that with lines of configuration.
//
// # When the servers run
//
// Tests with real servers take seconds, and need programs that may be missing. They are skipped
// unless the environment has STREAMWATCH_REDIS=1 and the programs are installed. With
// STREAMWATCH_REQUIRE_REDIS=1, for continuous integration, a missing program is a failure. They run
// only on Linux: signals pause the servers, and the kernel ends them with the test process, however
// that ends.
//
// Functions that take a testing.TB, and methods of their results, end the test if something fails.
// Call them on the test's goroutine.
package redistest
