// Package redistest starts real Redis servers for tests: one alone, a cluster,
// or a master with replicas watched by sentinels, each on free loopback ports
// with its data in t.TempDir. They end with the test.
//
//	server := redistest.Single(t, "appendfsync always")
//	client := redis.NewClient(&redis.Options{Addr: server.Addr()})
//	…
//	server.Kill()    // as a power failure would, as far as a process can show it
//	server.Restart() // with what its append-only file holds
//
// Cluster and Sentinel build their groups by commands, so that nothing but the
// servers' programs is needed; in Debian these are the packages redis-server
// and redis-sentinel, of version 7.0 or later. Each configuration line given
// overrides what stands before it: an append-only file synced every second, no
// snapshots, no memory limit.
//
// A Proxy stands between a client and a server. It knows enough of the protocol
// (https://redis.io/docs/latest/develop/reference/protocol-spec/) to pair each
// request with its reply, and can have a request executed and then cut the
// connection before the reply goes back, delay replies, or be a black hole.
//
// # When the servers run
//
// Real servers take seconds, and not everybody has them: the tests skip unless
// the environment has STREAMWATCH_REDIS=1, and also then when a program is not
// installed. STREAMWATCH_REQUIRE_REDIS=1, for a gate, makes a missing program a
// failure. Linux only: the servers are paused by signals and end with the test
// process, however it ends.
//
// Functions and methods that take or were given a testing.TB end the test when
// something fails; they are called on the test's goroutine.
package redistest
