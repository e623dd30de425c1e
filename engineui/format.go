package engineui

import (
	"html/template"
	"math"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/monitor"
)

// funcs are the functions that templates can call.
var funcs = template.FuncMap{
	"dur": dur, "clock": clock, "stamp": stamp, "num": num, "figure": figure, "pct": pct, "credits": credits,
	"out": out, "cut": cut, "join": strings.Join, "seconds": seconds, "often": often, "first": first, "last": last, "moment": moment, "soft": soft, "money": money, "ordinal": ordinal, "account": account, "lastAttempt": lastAttempt, "event": func(e *deliver.Event) deliver.Event { return *e },
	"table": newTable, "ask": newAsk, "reason": reason, "host": func(u string) string { h, _ := place(shownURL(u)); return h },
	"answer": answer, "title": titled, "count": func(f float64) string { return num(int64(f)) },
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
		return "<\u00a00.01\u00a0ms"
	case d < time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 2, 64) + "\u00a0ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + "\u00a0ms"
	case d < time.Second:
		return strconv.FormatInt(d.Round(time.Millisecond).Milliseconds(), 10) + "\u00a0ms"
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

// about formats how long something is ago, or in the future, without false exactness.
func about(d time.Duration) string {
	switch d = max(d, -d); {
	case d < time.Minute:
		return dur(d.Truncate(time.Second))
	case d < time.Hour:
		return dur(d.Truncate(time.Minute))
	case d < 10*time.Hour:
		return dur(d.Truncate(time.Minute))
	case d < 48*time.Hour:
		return dur(d.Truncate(time.Hour))
	}
	return dur(d.Truncate(24 * time.Hour))
}

// Ago shows a time by how long ago it is, or in what time it comes; the exact time is its title.
func (v *view) Ago(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	d := v.c.cfg.Now().Sub(t)
	text := about(d)
	switch {
	case d >= time.Second:
		text += " ago"
	case d > -time.Second:
		text = "now"
	default:
		text = "in " + text
	}
	return timed(t, text, " data-age")
}

// For shows how long something has lasted.
func (v *view) For(since time.Time) template.HTML {
	return timed(since, about(v.c.cfg.Now().Sub(since)), "")
}

// Clock shows the time of a day if that is today, otherwise also the day.
func (v *view) Clock(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	now, t := v.c.cfg.Now().UTC(), t.UTC()
	switch {
	case now.YearDay() == t.YearDay() && now.Year() == t.Year():
		return timed(t, t.Format("15:04:05"), "")
	case now.Sub(t).Abs() < 180*24*time.Hour:
		return timed(t, t.Format("2 Jan 15:04"), "")
	}
	return timed(t, t.Format("2006-01-02"), "")
}

func timed(t time.Time, text, more string) template.HTML {
	return template.HTML(`<time datetime="` + stamp(t) + `" title="` + clock(t) + ` UTC"` + more + `>` + text + `</time>`)
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

// figure formats a number: whole from 100 on, otherwise with one decimal, below 1 with two.
func figure(f float64) string {
	switch size := math.Abs(f); {
	case size >= 100:
		return num(int64(math.Round(f)))
	case size >= 1 || f == 0:
		return strconv.FormatFloat(f, 'f', 1, 64)
	case size < 0.005:
		return "< 0.01"
	}
	return money(f)
}

// money formats a price with two decimals.
func money(f float64) string { return strconv.FormatFloat(f, 'f', 2, 64) }

// pct formats a share in percent.
func pct(share float64) string {
	if share > 0 && share < 0.001 {
		return "<\u00a00.1\u00a0%"
	}
	return strconv.FormatFloat(share*100, 'f', 1, 64) + "\u00a0%"
}

// credits formats an amount in credits with three decimals.
func credits(c billing.Credits) string {
	sign := ""
	if c < 0 {
		sign = "−"
	}
	// Not -c, because the smallest int64 has no positive counterpart.
	whole, rest := c/billing.Credit, c%billing.Credit
	whole, rest = max(whole, -whole), max(rest, -rest)
	return sign + group(strconv.FormatInt(int64(whole), 10)) + "." + strconv.FormatInt(int64(rest+billing.Credit), 10)[1:]
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

// last returns the last n bytes of an id.
func last(n int, id string) string { return id[max(0, len(id)-n):] }

var breaks = strings.NewReplacer("/", "<wbr>/", "@", "<wbr>@", ".", "<wbr>.", "?", "<wbr>?", "&amp;", "<wbr>&amp;", "-", "-<wbr>", "_", "_<wbr>", ":", ":<wbr>")

// soft escapes a name or an address, and lets a line end within it.
func soft(text string) template.HTML {
	return template.HTML(breaks.Replace(template.HTMLEscapeString(text)))
}

// account returns the name under which the author's account is watched.
func account(e deliver.Event) string {
	if e.Platform != "" {
		return e.Platform + ":" + e.AuthorUsername
	}
	return e.AuthorUsername
}

// titled returns a word with a capital letter.
func titled(word string) string {
	if word == "" {
		return ""
	}
	return strings.ToUpper(word[:1]) + word[1:]
}

// tableData is what a table's template gets.
type tableData struct {
	V      *view
	Rows   any
	Choose bool // rows can be chosen for a form
}

func newTable(v *view, rows any, choose ...bool) tableData {
	return tableData{v, rows, len(choose) > 0 && choose[0]}
}

// question is what is asked before a form is sent.
type question struct {
	V                       *view
	Action, Title, Text, Do string
	Danger                  bool
}

func newAsk(v *view, action, title, text, do string, danger bool) question {
	return question{v, action, title, text, do, danger}
}

// Hours reports whether the form asks for a time.
func (q question) Hours() bool { return q.Action == "recover" || q.Action == "replay" }

// reason says in words why a monitor or rule is paused or fails.
func reason(stored string) string {
	switch stored {
	case monitor.ReasonUser:
		return "paused by its owner"
	case monitor.ReasonCredits:
		return "credits ran out"
	}
	return strings.TrimPrefix(stored, monitor.ReasonUpstream)
}
