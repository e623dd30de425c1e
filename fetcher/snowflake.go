package fetcher

import (
	"strconv"
	"time"
)

// snowflakeEpoch is the millisecond the X platform's ids count from,
// 2010-11-04T01:42:54.657Z.
const snowflakeEpoch = 1288834974657

// firstSnowflake is about the last id given out before ids carried a time;
// smaller ones decode to within two hours of the epoch and mean nothing.
const firstSnowflake = 29_700_000_000

// SnowflakeTime reads the publication time, to the millisecond, out of an X
// post id. It reports false for ids that are not numeric or are older than
// the scheme.
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

// SnowflakeAt gives the smallest id a post published at t can have, so that
// ids can be compared with a moment. Moments before the epoch give 0.
func SnowflakeAt(t time.Time) uint64 {
	ms := t.UnixMilli() - snowflakeEpoch
	if ms < 0 {
		return 0
	}
	return uint64(ms) << 22
}
