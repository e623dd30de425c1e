package enginetest_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/fetcher"
	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

// The fake platform is a Fetcher as its contract has it.
func TestPlatformIsAFetcher(t *testing.T) {
	fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 8, Open: func(testing.TB) fetchertest.Upstream {
		p := enginetest.NewPlatform(enginetest.PlatformConfig{PageSize: 8})
		ids := map[string]string{}
		return fetchertest.Upstream{
			New:      func(testing.TB) fetcher.Fetcher { return p },
			Accounts: enginetest.AccountNames(3),
			Post: func(account, text string, at time.Time) {
				ids[account+text] = p.PostAt(account, text, at, time.Time{}).ID
			},
			Delete:  func(account, text string) { p.Delete(account, ids[account+text]) },
			Query:   func(account string) string { return "from:" + account },
			Missing: "nobody",
			Protect: func(account string) { p.SetProtected(account, true) },
		}
	}})
}
