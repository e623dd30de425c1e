package fetchertest

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// StreamKit says how TestStreamer gets the Streamers it works on.
type StreamKit struct {
	// Open starts an upstream that shares nothing with those opened before.
	// t.Cleanup ends it. Required.
	Open func(t testing.TB) StreamUpstream
	// Bubble runs each case in a testing/synctest bubble, so that no time is spent
	// on waiting. The upstream must do without sockets then.
	Bubble bool

	patience time.Duration // how long a signal is waited for
}

// StreamUpstream is a stand-in for a platform that pushes. Its functions are called
// one at a time, while a Stream call is under way or not.
type StreamUpstream struct {
	// New makes a Streamer of the upstream. A further call makes what the next
	// process would. Required.
	New func(t testing.TB) fetcher.Streamer
	// Accounts are on the upstream, as the engine names them once it has polled
	// them: three or more. Required.
	Accounts []fetcher.Account
	// Post publishes a text of ASCII letters, digits and spaces now. Required.
	Post func(a fetcher.Account, text string)
	// Query words a query for the posts of an account, such as "from:ann", for a Streamer
	// that is a fetcher.Roles.SearchStream: the cases then ask it for these queries instead
	// of the accounts.
	Query func(a fetcher.Account) string
	// Edit replaces the text of the account's newest post.
	Edit func(a fetcher.Account, text string)
	// Delete deletes the account's newest post.
	Delete func(a fetcher.Account)
	// Break cuts the connections that there are.
	Break func()
	// Gradual says that the platform accepts accounts one by one: SignalUp may tell
	// fewer than are wanted, and SignalAccounts tells of more. What else comes meanwhile
	// is passed over.
	Gradual bool
	// Silent says that nothing comes where nothing happens, no SignalHeartbeat either.
	Silent bool
	// Resumes says that the platform replays what was pushed since a position.
	Resumes bool
	// Clamp makes the platform forget what it pushed before now, where it says so
	// when it is asked for that.
	Clamp func()
}

// TestStreamer checks that a Streamer keeps its contract, as package fetcher has it,
// in named subtests: one of accounts, or with StreamUpstream.Query one of queries.
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

// streamCase is one behaviour. It runs on an upstream of its own.
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
	a, b, c  fetcher.Account // the first three
}

func runStream(tb testing.TB, kit StreamKit, c streamCase) {
	tb.Helper()
	if kit.patience == 0 {
		kit.patience = time.Minute
	}
	t := &streamTest{TB: tb, kit: kit, up: kit.Open(tb)}
	t.a, t.b, t.c = t.up.Accounts[0], t.up.Accounts[1], t.up.Accounts[2]
	t.streamer = t.up.open(t)
	c.run(t)
}
