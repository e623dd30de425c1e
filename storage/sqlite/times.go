package sqlite

import (
	"fmt"
	"math"
	"time"
)

// Times are integers, Unix nanoseconds, so that they compare in SQL and nothing
// is lost. They reach from 1677 to 2262: what is outside counts as the end.

var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

// nanos is the time as it is stored where there always is one. The zero time
// is the smallest of all, and zero again when it is read.
func nanos(t time.Time) int64 {
	switch {
	case !t.After(firstTime):
		return math.MinInt64
	case t.After(lastTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// optional is the time where it may be missing: NULL when it is zero.
func optional(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return nanos(t)
}

// timeOf is a stored time, in UTC.
func timeOf(nanos int64) time.Time {
	if nanos == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// timeColumn scans a stored time into a time.Time, in UTC.
type timeColumn struct{ to *time.Time }

// Scan implements sql.Scanner.
func (c timeColumn) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.to = time.Time{}
	case int64:
		*c.to = timeOf(v)
	default:
		return fmt.Errorf("sqlite: a time stored as %T: want an integer, Unix nanoseconds", v)
	}
	return nil
}

// readable is an SQL expression that shows a stored time to people, as RFC 3339
// in UTC with milliseconds; NULL for none.
func readable(column string) string {
	return fmt.Sprintf("CASE WHEN %[1]s >= 0 THEN strftime('%%Y-%%m-%%dT%%H:%%M:%%S', %[1]s / 1000000000, 'unixepoch') || "+
		"printf('.%%03dZ', %[1]s / 1000000 %% 1000) END", column)
}
