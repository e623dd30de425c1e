package social

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// Year2000 is where a testing/synctest bubble's clock begins.
var Year2000 = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// firstEarlyID is below the ids of all posts, except bogus posts from before the snowflake scheme.
const firstEarlyID = 1 << 22

// SmallestID returns the smallest id for a time, by the snowflake scheme of X. Before the epoch of
// that scheme, in November 2010, ids count steps of 12 ms since 2000. These ids have the same order,
// and are all below the ids that fetcher.SnowflakeTime accepts. SmallestID reports false for times
// before 2000.
func SmallestID(published time.Time) (uint64, bool) {
	id := fetcher.SnowflakeAt(published)
	if _, ok := fetcher.SnowflakeTime(FormatID(id)); ok {
		return id, true
	}
	since := published.Sub(Year2000).Milliseconds()
	return firstEarlyID + uint64(since)/12, since >= 0
}

// FormatID is the text of an id.
func FormatID(id uint64) string { return strconv.FormatUint(id, 10) }

// ParseID reads a bound on ids; "" is none.
func ParseID(s string) (uint64, bool) {
	if s == "" {
		return 0, true
	}
	id, err := strconv.ParseUint(s, 10, 64)
	return id, err == nil && id > 0
}
