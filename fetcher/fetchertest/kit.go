package fetchertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Kit says how TestFetcher gets the Fetchers it works on.
type Kit struct {
	// Open starts an upstream that has no posts and shares nothing with those
	// opened before. t.Cleanup ends it. Required.
	Open func(t testing.TB) Upstream
	// PageSize is how many posts a full page has when the query's Limit is 0: 4 or
	// more. The suite posts two and a half pages. Required.
	PageSize int
	// Resolution is how exact the platform tells publication times. Defaults to
	// one millisecond; a platform that tells seconds has time.Second.
	Resolution time.Duration
	// Now is the upstream's clock. Defaults to time.Now. Posts are from the two
	// hours before.
	Now func() time.Time

	patience time.Duration // how long a call may outlast its context
}

// Upstream is a stand-in for a platform, and what the suite does to it. Its
// functions are called one at a time, while no call of a Fetcher is under way. The
// cases that need one that is nil are skipped.
type Upstream struct {
	// New makes a Fetcher that reads the upstream. A further call makes what the
	// next process would: it may know nothing of the first. Required.
	New func(t testing.TB) fetcher.Fetcher
	// Accounts are handles of the upstream's accounts, three or more. Required.
	Accounts []string
	// Post publishes a text of ASCII letters, digits and spaces. It is visible at
	// once, at its place by time: at may be before other posts, or equal to theirs.
	// at has whole milliseconds. Required.
	Post func(account, text string, at time.Time)
	// Query words a search for the posts of an account, such as "from:ann", for a
	// Fetcher that is a fetcher.Searcher, too.
	Query func(account string) string
	// Missing is a handle that nobody has: fetcher.ErrNotFound. "" where the
	// platform does not tell.
	Missing string
	// Protect makes an account's posts private: fetcher.ErrProtected.
	Protect func(account string)
	// Unauthorized makes the upstream refuse the credentials of every request:
	// fetcher.ErrUnauthorized.
	Unauthorized func()
	// Limit makes the upstream refuse every request for being over a limit and
	// ask for a wait of whole seconds: *fetcher.RateLimitError.
	Limit func(retryAfter time.Duration)
	// Garble makes the upstream answer every request with a web page:
	// fetcher.ErrMalformed.
	Garble func()
	// Stall makes the upstream leave every request without an answer until its
	// caller gives up.
	Stall func()
}

// TestFetcher checks that a Fetcher keeps its contract, as package fetcher has
// it, in named subtests, a group for each subject. One that is a
// fetcher.BatchFetcher or a fetcher.Searcher is tested as one, too.
func TestFetcher(t *testing.T, kit Kit) {
	t.Helper()
	if err := kit.validate(); err != nil {
		t.Fatal(err)
	}
	for _, g := range groups() {
		t.Run(g.name, func(t *testing.T) {
			for _, c := range g.cases {
				t.Run(c.name, func(t *testing.T) { run(t, kit, c) })
			}
		})
	}
}

// validate checks the kit and fills in its defaults.
func (k *Kit) validate() error {
	switch {
	case k.PageSize < 4 || k.PageSize > 1000:
		return fmt.Errorf("fetchertest: Kit.PageSize %d is not allowed: want 4 to 1000, the posts of a full page", k.PageSize)
	case k.Resolution < 0 || k.Resolution > time.Minute:
		return fmt.Errorf("fetchertest: Kit.Resolution %s is not allowed: want 0 (1 ms) to 1 min", k.Resolution)
	}
	if k.Resolution == 0 {
		k.Resolution = time.Millisecond
	}
	if k.Now == nil {
		k.Now = time.Now
	}
	if k.patience == 0 {
		k.patience = 10 * time.Second
	}
	return nil
}

// group is the cases of one subject.
type group struct {
	name  string
	cases []testCase
}

// testCase is one behaviour. It runs on an upstream of its own.
type testCase struct {
	name string
	run  func(*test)
}

func groups() []group {
	return []group{
		{"paging", pagingCases()},
		{"posts", postCases()},
		{"seen", seenCases()},
		{"since", sinceCases()},
		{"version", versionCases()},
		{"search", searchCases()},
		{"errors", errorCases()},
		{"batch", batchCases()},
	}
}
