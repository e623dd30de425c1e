package shopee

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// priceScale is the factor by which prices are multiplied in documents.
const priceScale = 1e5

// value is a JSON value. Its methods convert it to the type that is needed; a value of
// another type is zero. It is nil for a field that is missing.
type value []byte

func (v *value) UnmarshalJSON(b []byte) error {
	*v = bytes.Clone(b)
	return nil
}

// text is a string, or a number as it is written.
func (v value) text() string {
	if len(v) > 0 && v[0] == '"' {
		var s string
		if json.Unmarshal(v, &s) == nil {
			return s
		}
	}
	if v.isNumber() {
		return string(v)
	}
	return ""
}

func (v value) isNumber() bool { return len(v) > 0 && (v[0] == '-' || v[0] >= '0' && v[0] <= '9') }

// number is a number, or one written as a string.
func (v value) number() float64 {
	f, err := strconv.ParseFloat(strings.TrimSpace(v.text()), 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return 0
	}
	return f
}

// integer is a whole number, a fraction cut off. Ids need all 64 bits, which a
// float does not keep.
func (v value) integer() int64 {
	if n, err := strconv.ParseInt(strings.TrimSpace(v.text()), 10, 64); err == nil {
		return n
	}
	if f := v.number(); math.Abs(f) < 1<<53 {
		return int64(f)
	}
	return 0
}

// count is an integer that cannot be below 0.
func (v value) count() int64 { return max(v.integer(), 0) }

// price is an amount in units of the currency, 0 for none.
func (v value) price() float64 { return max(v.number()/priceScale, 0) }

// star is a rating of 0 to 5.
func (v value) star() float64 { return min(max(v.number(), 0), 5) }

// texts are the strings of a list.
func (v value) texts() []string {
	var list values
	json.Unmarshal(v, &list) // anything but a list has no strings
	out := make([]string, 0, len(list))
	for _, item := range list {
		out = append(out, item.text())
	}
	return out
}

// values is a list; anything else is an empty one.
type values []value

func (vs *values) UnmarshalJSON(b []byte) error {
	var list []value
	if json.Unmarshal(b, &list) == nil {
		*vs = list
	}
	return nil
}

// records is a list of objects; other elements are left out.
type records []map[string]value

func (rs *records) UnmarshalJSON(b []byte) error {
	var list values
	list.UnmarshalJSON(b)
	for _, v := range list {
		var r map[string]value
		if json.Unmarshal(v, &r) == nil && r != nil {
			*rs = append(*rs, r)
		}
	}
	return nil
}

// rating is what buyers think of an item.
type rating struct {
	Star  value
	Count values // in all, then of 1 to 5 stars
}

func (r *rating) UnmarshalJSON(b []byte) error {
	var fields struct {
		Star  value  `json:"rating_star"`
		Count values `json:"rating_count"`
	}
	if json.Unmarshal(b, &fields) == nil {
		r.Star, r.Count = fields.Star, fields.Count
	}
	return nil
}

// counts returns the number of ratings, and that of each number of stars, "1" to "5".
func (r *rating) counts() (total int64, byStars map[string]int64) {
	byStars = map[string]int64{"1": 0, "2": 0, "3": 0, "4": 0, "5": 0}
	for stars := 1; stars <= 5 && stars < len(r.Count); stars++ {
		byStars[strconv.Itoa(stars)] = r.Count[stars].count()
	}
	if len(r.Count) > 0 {
		total = r.Count[0].count()
	}
	return total, byStars
}

// positive returns nil for a number that is not above 0.
func positive(f float64) *float64 {
	if f <= 0 {
		return nil
	}
	return &f
}

// filled returns nil for "".
func filled(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
