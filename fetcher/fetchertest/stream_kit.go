package fetchertest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// StreamKit configures TestStreamer.
type StreamKit struct {
	// Open starts an upstream independent of those opened before. It registers a t.Cleanup that
	// stops the upstream. Required.
	Open func(t testing.TB) StreamUpstream
	// Bubble runs each case in a testing/synctest bubble, where waiting takes no time. The
	// upstream must not use sockets then. Without Bubble a case that waits in vain fails within
	// 5 s; a platform with rarer heartbeats is Silent.
	Bubble bool

	patience time.Duration // how long a case waits for signals, in all
}

// StreamUpstream is a fake of a platform that pushes posts. Its functions are called one at a
// time, also while a call of Stream is running.
type StreamUpstream struct {
	// New makes a Streamer of the upstream. Each call is like the start of a new process.
	// Required.
	New func(t testing.TB) fetcher.Streamer
	// Accounts are three or more accounts of the upstream, with the UserID that a poll would
	// return. Required.
	Accounts []fetcher.Account
	// Post publishes a text of ASCII letters, digits and spaces now. Required.
	Post func(a fetcher.Account, text string)
	// Query returns a query for the posts of an account, such as "from:ann". Set it for a
	// Streamer that is a fetcher.Roles.SearchStream: the cases then use these queries instead
	// of the accounts.
	Query func(a fetcher.Account) string
	// Edit replaces the text of the account's newest post.
	Edit func(a fetcher.Account, text string)
	// Delete deletes the account's newest post.
	Delete func(a fetcher.Account)
	// Break cuts the connections that there are.
	Break func()
	// Gradual says that the platform accepts accounts one by one. SignalUp may then list fewer
	// accounts than wanted, and SignalAccounts lists more later. The cases ignore other signals
	// in between.
	Gradual bool
	// Silent says that the platform sends no SignalHeartbeat while nothing happens.
	Silent bool
	// Resumes says that the platform can resume from a position.
	Resumes bool
	// Clamp makes the platform forget the posts pushed so far. It is for a platform that
	// reports when it cannot resume from a position.
	Clamp func()
}

// TestStreamer checks, in subtests, that a Streamer does what the documentation of package
// fetcher requires. With StreamUpstream.Query, the Streamer is one of queries, otherwise of
// accounts.
func TestStreamer(t *testing.T, kit StreamKit) {
	t.Helper()
	for _, c := range streamCases() {
		t.Run(c.name, func(t *testing.T) {
			if kit.Bubble {
				synctest.Test(t, func(t *testing.T) { runStream(t, kit, c) })
				return
			}
			runStream(t, kit, c)
		})
	}
}

// streamCase checks one behaviour. It runs with a new upstream.
type streamCase struct {
	name string
	run  func(*streamTest)
}

// streamTest is one case under way.
type streamTest struct {
	testing.TB
	kit      StreamKit
	up       StreamUpstream
	streamer fetcher.Streamer
	deadline time.Time       // of all waits
	a, b, c  fetcher.Account // the first three
}

func runStream(tb testing.TB, kit StreamKit, c streamCase) {
	tb.Helper()
	switch {
	case kit.patience > 0:
	case kit.Bubble:
		kit.patience = 5 * time.Minute
	default:
		kit.patience = 4 * time.Second // and a quarter of it for the end, see over
	}
	t := &streamTest{TB: tb, kit: kit, up: kit.Open(tb), deadline: time.Now().Add(kit.patience)}
	t.a, t.b, t.c = t.up.Accounts[0], t.up.Accounts[1], t.up.Accounts[2]
	t.streamer = t.up.open(t)
	c.run(t)
}
