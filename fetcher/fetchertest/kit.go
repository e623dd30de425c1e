package fetchertest

import (
	"fmt"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Kit configures TestFetcher.
type Kit struct {
	// Open starts an upstream without posts, independent of those opened before. It registers a
	// t.Cleanup that stops the upstream. Required.
	Open func(t testing.TB) Upstream
	// PageSize is the number of posts on a full page if the query's Limit is 0, at least 4. The
	// suite publishes two and a half pages. Required.
	PageSize int
	// Resolution is the precision of the platform's publication times. Defaults to one
	// millisecond. Set it to time.Second for a platform with whole seconds.
	Resolution time.Duration
	// Now is the upstream's clock. The suite publishes posts of the last two hours. Defaults to
	// time.Now.
	Now func() time.Time

	patience time.Duration // time within which a call must return after its context ends
}

// Upstream is a fake platform, and functions by which the suite changes it. They are called one
// at a time, while no call of a Fetcher is running. If a function is nil, the cases that need
// it are skipped.
type Upstream struct {
	// New makes a Fetcher that reads the upstream. Each call is like the start of a new
	// process: the new Fetcher must share no memory with earlier ones. Required.
	New func(t testing.TB) fetcher.Fetcher
	// Accounts are the handles of three or more accounts of the upstream. Required.
	Accounts []string
	// Post publishes a text of ASCII letters, digits and spaces. The post is visible
	// immediately, at its place by time. at may be before or equal to the times of other posts.
	// It has whole milliseconds. Required.
	Post func(account, text string, at time.Time)
	// Delete deletes an account's post with a text.
	Delete func(account, text string)
	// Query returns a query for the posts of an account, such as "from:ann". It is for a
	// Fetcher that is also a fetcher.Searcher.
	Query func(account string) string
	// Missing is a handle that nobody has. Reading it must fail with fetcher.ErrNotFound. It is
	// "" if the platform does not report missing accounts.
	Missing string
	// Protect makes an account's posts private: fetcher.ErrProtected.
	Protect func(account string)
	// Unauthorized makes the upstream refuse the credentials of every request. Calls must fail
	// with fetcher.ErrUnauthorized.
	Unauthorized func()
	// Limit makes the upstream refuse every request because of a rate limit and ask for a wait,
	// in whole seconds. Calls must fail with *fetcher.RateLimitError.
	Limit func(retryAfter time.Duration)
	// Garble makes the upstream answer every request with a web page. Calls must fail with
	// fetcher.ErrMalformed.
	Garble func()
	// Stall makes the upstream leave every request unanswered until the client gives up.
	Stall func()
}

// TestFetcher checks that a Fetcher does what the documentation of package fetcher requires. It
// runs a group of subtests for each subject. A fetcher.BatchFetcher or fetcher.Searcher is also
// tested as such.
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

// testCase checks one behaviour. It runs with a new upstream.
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
