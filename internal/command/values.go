package command

import (
	"log/slog"
	"math"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// Parse sets a value from a text: a string, bool, int, int64, uint64, float64, time.Duration or
// slog.Level, or a type of such a kind. If the text is not allowed, it returns what is.
func Parse(into reflect.Value, text string) (want string) {
	var err error
	switch v := into.Addr().Interface().(type) {
	case *time.Duration:
		*v, err = time.ParseDuration(text)
		want = "a duration such as 1m30s"
	case *slog.Level:
		err = v.UnmarshalText([]byte(text))
		want = "debug, info, warn or error"
	default:
		switch into.Kind() {
		case reflect.String:
			into.SetString(text)
		case reflect.Bool:
			var b bool
			b, err = strconv.ParseBool(text)
			into.SetBool(b)
			want = "true or false"
		case reflect.Int, reflect.Int64:
			var n int64
			n, err = strconv.ParseInt(text, 10, into.Type().Bits())
			into.SetInt(n)
			want = "a whole number"
		case reflect.Uint64:
			var n uint64
			n, err = strconv.ParseUint(text, 10, 64)
			into.SetUint(n)
			want = "a whole number, 0 or more"
		case reflect.Float64:
			var x float64
			x, err = strconv.ParseFloat(text, 64)
			into.SetFloat(x)
			want = "a number"
		}
	}
	if err == nil {
		return ""
	}
	return want
}

// Nearest returns the name that text begins, or else the one with the smallest edit distance from it.
func Nearest(text string, names []string) string {
	text = text[:min(len(text), 40)]
	best, fewest := "", math.MaxInt
	for _, name := range names {
		if text != "" && strings.HasPrefix(name, text) {
			return name
		}
		if n := distance(text, name); n < fewest {
			best, fewest = name, n
		}
	}
	return best
}

// distance is the Levenshtein distance of two texts.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0] // the distance of a[:i] and b[:j]
		row[0] = i + 1
		for j := range len(b) {
			change := before
			if a[i] != b[j] {
				change++
			}
			before = row[j+1]
			row[j+1] = min(change, row[j]+1, before+1)
		}
	}
	return row[len(b)]
}
