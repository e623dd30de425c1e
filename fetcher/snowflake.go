package fetcher

import (
	"strconv"
	"time"
)

// snowflakeEpoch is 2010-11-04T01:42:54.657Z in Unix milliseconds. Post ids of X contain the
// number of milliseconds since then.
const snowflakeEpoch = 1288834974657

// firstSnowflake is approximately the last post id of X without a time. Ids up to this one
// contain no time.
const firstSnowflake = 29_700_000_000

// SnowflakeTime returns the publication time in an X post id, to the millisecond. It
// reports false for an id that is not a number or contains no time.
func SnowflakeTime(id string) (time.Time, bool) {
	if id == "" || id[0] == '+' {
		return time.Time{}, false
	}
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil || n <= firstSnowflake {
		return time.Time{}, false
	}
	return time.UnixMilli(int64(n>>22) + snowflakeEpoch).UTC(), true
}

// SnowflakeAt returns the smallest id of an X post published at t, or 0 if t is before
// snowflakeEpoch.
func SnowflakeAt(t time.Time) uint64 {
	ms := t.UnixMilli() - snowflakeEpoch
	if ms < 0 {
		return 0
	}
	return uint64(ms) << 22
}
