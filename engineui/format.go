package engineui

import (
	"html/template"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// funcs are the functions that templates can call.
var funcs = template.FuncMap{
	"dur": dur, "clock": clock, "stamp": stamp, "num": num, "figure": figure, "pct": pct, "credits": credits,
	"out": out, "cut": cut, "join": strings.Join, "seconds": seconds, "often": often, "first": first, "moment": moment,
}

// dur formats a duration with about three digits: 812 ms, 3.21 s, 4 min 10 s, 2 h 5 min, 3 d 4
// h.
func dur(d time.Duration) string {
	switch {
	case d < 0:
		return "−" + dur(-d)
	case d == 0:
		return "0"
	case d < 10*time.Microsecond:
		return "< 0.01 ms"
	case d < time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64) + " ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
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
	text := strconv.FormatInt(int64(d/large), 10) + " " + largeName
	if rest := d % large / small; rest > 0 {
		text += " " + strconv.FormatInt(int64(rest), 10) + " " + smallName
	}
	return text
}

// clock formats a time in UTC to the second. The zero time is a dash.
func clock(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05")
}

// moment is clock to the millisecond.
func moment(t time.Time) string {
	if t.IsZero() {
		return "–"
	}
	return t.UTC().Format("2006-01-02 15:04:05.000")
}

// stamp formats a time for the attribute datetime.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// num formats a whole number with narrow no-break spaces between thousands.
func num(n any) string {
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

// figure formats a number with about three digits.
func figure(f float64) string {
	switch {
	case f >= 1000 || f <= -1000:
		return num(int64(f))
	case f >= 100 || f <= -100:
		return strconv.FormatFloat(f, 'f', 0, 64)
	}
	return strconv.FormatFloat(f, 'g', 3, 64)
}

// pct formats a share in percent.
func pct(share float64) string {
	if share > 0 && share < 0.001 {
		return "< 0.1 %"
	}
	return strconv.FormatFloat(share*100, 'f', 1, 64) + " %"
}

// credits formats an amount in whole credits and thousandths.
func credits(c billing.Credits) string {
	sign := ""
	if c < 0 {
		sign = "−"
	}
	// Not -c, because the smallest int64 has no positive counterpart.
	whole, rest := c/billing.Credit, c%billing.Credit
	whole, rest = max(whole, -whole), max(rest, -rest)
	text := sign + group(strconv.FormatInt(int64(whole), 10))
	if rest != 0 {
		text += "." + strings.TrimRight(strconv.FormatInt(int64(rest+billing.Credit), 10)[1:], "0")
	}
	return text
}

// cut shortens an untrusted text.
func cut(most int, text string) string {
	for i := range text {
		if most--; most < 0 {
			return text[:i] + "…"
		}
	}
	return text
}

// outside is a link to another host. URL is "" if the address must not become a link.
type outside struct{ URL, Text string }

// out makes a link from an untrusted address: only http and https addresses become links. The
// template "out" shows it.
func out(href, text string) outside {
	o := outside{href, text}
	u, err := url.Parse(href)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || len(href) > maxURL {
		o.URL = ""
	}
	if text == "" {
		o.Text = cut(80, href)
	}
	return o
}

// maxURL is the maximum length of a link to another host.
const maxURL = 2000

// seconds formats a duration given in seconds, like dur.
func seconds(s float64) string { return dur(time.Duration(s * float64(time.Second))) }

// often formats a rate, given per second, in a suitable unit.
func often(perSecond float64) string {
	switch {
	case perSecond >= 1:
		return figure(perSecond) + " a second"
	case perSecond*3600 >= 1:
		return figure(perSecond*3600) + " an hour"
	}
	return figure(perSecond*24*3600) + " a day"
}

// first returns the first n elements of a slice, or fewer if it is shorter.
func first(n int, list any) any {
	v := reflect.ValueOf(list)
	return v.Slice(0, min(n, v.Len())).Interface()
}
