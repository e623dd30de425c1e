package sqlstore

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// Times are stored as Unix nanoseconds. SQL can compare them, and they lose no precision. They
// range from 1677 to 2262. A time outside is stored as the nearest end of the range.

var (
	firstTime = time.Unix(0, math.MinInt64)
	lastTime  = time.Unix(0, math.MaxInt64)
)

// nanos returns the value to store for a time in a column that is never NULL. The zero time is
// the smallest int64.
func nanos(t time.Time) int64 {
	switch {
	case !t.After(firstTime):
		return math.MinInt64
	case t.After(lastTime):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// zeroTime is SQL for nanos(time.Time{}): a literal would be too large before its sign.
const zeroTime = `(-9223372036854775807 - 1)`

// optional returns the value to store for a time in other columns: NULL for the zero time.
func optional(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return nanos(t)
}

// timeOf returns the time, in UTC, for a value of nanos.
func timeOf(nanos int64) time.Time {
	if nanos == math.MinInt64 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// timeColumn is a destination for a column of times. It stores the time in UTC, or the zero time
// for NULL.
type timeColumn struct{ to *time.Time }

// Scan implements sql.Scanner.
func (c timeColumn) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		*c.to = time.Time{}
	case int64:
		*c.to = timeOf(v)
	default:
		return fmt.Errorf("a time stored as %T: want an integer, Unix nanoseconds", v)
	}
	return nil
}

// Texts and Ints are lists as an argument of a query: see Dialect.
type (
	Texts []string
	Ints  []int64
)

// Value implements driver.Valuer for a driver without lists: JSON.
func (l Texts) Value() (driver.Value, error) { return JSON{[]string(l)}.Value() }

// Value implements driver.Valuer for a driver without lists: JSON.
func (l Ints) Value() (driver.Value, error) { return JSON{[]int64(l)}.Value() }

// JSON is a value that is stored as JSON: NULL for an empty list. As a destination for a column it
// has a pointer to the value, which NULL leaves unchanged.
type JSON struct{ value any }

// Value implements driver.Valuer: a text or nil.
func (c JSON) Value() (driver.Value, error) {
	doc, err := json.Marshal(c.value)
	if text := string(doc); err == nil && text != "null" && text != "[]" {
		return text, nil
	}
	return nil, err
}

// Scan implements sql.Scanner.
func (c JSON) Scan(v any) error {
	switch v := v.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(v), c.value)
	}
	return fmt.Errorf("a document stored as %T: want text", v)
}
