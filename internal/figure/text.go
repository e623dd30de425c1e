package figure

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// Duration formats a duration with about three digits: 812 ms, 3.2 s, 5 s, 4 min 10 s, 2 h 5 min,
// 3 d 4 h, with no-break spaces before the units.
func Duration(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + Duration(-d)
	case d == 0:
		return "0"
	case d < 10*time.Microsecond:
		return "<\u00a00.01\u00a0ms"
	case d < time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64) + "\u00a0ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + "\u00a0ms"
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + "\u00a0ms"
	case d < time.Minute && d%time.Second == 0:
		return strconv.FormatInt(int64(d/time.Second), 10) + "\u00a0s"
	case d < time.Minute-50*time.Millisecond:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + "\u00a0s"
	case d < time.Hour:
		return two(d, time.Minute, "min", time.Second, "s")
	case d < 48*time.Hour:
		return two(d, time.Hour, "h", time.Minute, "min")
	}
	return two(d, 24*time.Hour, "d", time.Hour, "h")
}

// two formats a duration in two units. It omits the second if it is 0.
func two(d, large time.Duration, largeName string, small time.Duration, smallName string) string {
	d = d.Round(small)
	text := strconv.FormatInt(int64(d/large), 10) + "\u00a0" + largeName
	if rest := d % large / small; rest > 0 {
		text += " " + strconv.FormatInt(int64(rest), 10) + "\u00a0" + smallName
	}
	return text
}

// About formats how long something is ago, or in the future, without false exactness.
func About(d time.Duration) string {
	switch d = max(d, -d); {
	case d < time.Minute:
		return Count(int64(d/time.Second)) + "\u00a0s"
	case d < 10*time.Hour:
		return Duration(d.Truncate(time.Minute))
	case d < 48*time.Hour:
		return Duration(d.Truncate(time.Hour))
	}
	return Duration(d.Truncate(24 * time.Hour))
}

// Count formats a whole number with narrow no-break spaces between thousands.
func Count(n any) string {
	var v int64
	switch n := n.(type) {
	case int:
		v = int64(n)
	case int64:
		v = n
	case uint64:
		return group(strconv.FormatUint(n, 10))
	}
	if v < 0 {
		return "−" + group(strings.TrimPrefix(strconv.FormatInt(v, 10), "-"))
	}
	return group(strconv.FormatInt(v, 10))
}

func group(digits string) string {
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteString("\u202f")
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Decimal formats a number: whole from 100 on, otherwise with one decimal, below 1 with two.
func Decimal(f float64) string {
	switch size := math.Abs(f); {
	case size >= 100:
		return Count(int64(math.Round(f)))
	case size >= 1 || f == 0:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case size < 0.005:
		return "< 0.01"
	}
	return Money(f)
}

// Money formats a price with two decimals.
func Money(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

// Share formats a share in percent.
func Share(share float64) string {
	if share > 0 && share < 0.001 {
		return "<\u00a00.1\u00a0%"
	}
	return strconv.FormatFloat(share*100, 'f', 1, 64) + "\u00a0%"
}

// Rate formats a rate, given per second, in a suitable unit.
func Rate(perSecond float64) string {
	switch {
	case perSecond >= 1:
		return Decimal(perSecond) + " a second"
	case perSecond*3600 >= 1:
		return Decimal(perSecond*3600) + " an hour"
	}
	return Decimal(perSecond*24*3600) + " a day"
}

// Ordinal writes 1 as 1st.
func Ordinal(n int) string {
	end := "th"
	if n%100/10 != 1 {
		switch n % 10 {
		case 1:
			end = "st"
		case 2:
			end = "nd"
		case 3:
			end = "rd"
		}
	}
	return strconv.Itoa(n) + end
}

// Credits formats an amount in credits with three decimals.
func Credits(c billing.Credits) string {
	sign := ""
	if c < 0 {
		sign = "−"
	}
	// Not -c, because the smallest int64 has no positive counterpart.
	whole, rest := c/billing.Credit, c%billing.Credit
	whole, rest = max(whole, -whole), max(rest, -rest)
	return sign + group(strconv.FormatInt(int64(whole), 10)) + "." + strconv.FormatInt(int64(rest+billing.Credit), 10)[1:]
}

// Plural writes a number before a word, in its plural unless the number is 1.
func Plural(n int64, word string) string {
	if n == 1 {
		return "1 " + word
	}
	return Count(n) + " " + word + "s"
}
