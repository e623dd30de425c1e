package fetcher

import (
	"strconv"
	"time"
)

// snowflakeEpoch is the time that post ids of X count from, 2010-11-04T01:42:54.657Z, as
// Unix milliseconds.
const snowflakeEpoch = 1288834974657

// firstSnowflake is about the last post id issued before ids contained a time. Ids up to
// this one contain no time.
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

// SnowflakeAt returns the smallest id that an X post published at t can have, or 0 for
// times before the first of these ids.
func SnowflakeAt(t time.Time) uint64 {
	ms := t.UnixMilli() - snowflakeEpoch
	if ms < 0 {
		return 0
	}
	return uint64(ms) << 22
}
