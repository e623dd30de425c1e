package fetchertest_test

import (
	"testing"

	"github.com/streamwatch/streamwatch/fetcher/fetchertest"
)

// The example's adapter passes on the example's stand-in.
func TestExample(t *testing.T) {
	fetchertest.TestFetcher(t, fetchertest.Kit{PageSize: 20, Open: open})
}
