package engineui

import (
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/internal/figure"
	"github.com/streamwatch/streamwatch/internal/search"
	"github.com/streamwatch/streamwatch/monitor"
)

// funcs are the functions that templates can call.
var funcs = template.FuncMap{
	"dur": figure.Duration, "clock": clock, "stamp": stamp, "num": figure.Count, "figure": figure.Decimal, "pct": figure.Share, "credits": figure.Credits,
	"out": out, "cut": cut, "seconds": seconds, "often": figure.Rate, "first": first, "last": last, "moment": moment, "soft": soft, "money": figure.Money, "ordinal": figure.Ordinal, "account": account, "lastAttempt": lastAttempt, "event": func(e *deliver.Event) deliver.Event { return *e },
	"dict": dict, "reason": reason, "host": func(u string) string { h, _ := place(search.URL(u)); return h },
	"answer": figure.Answer, "plural": func(n int, word string) string { return figure.Plural(int64(n), word) }, "status": http.StatusText, "count": func(f float64) string { return figure.Count(int64(f)) },
}

// Ago shows a time by how long ago it is, or in what time it comes; the exact time is its title.
func (v *view) Ago(t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	d := v.c.cfg.Now().Sub(t)
	text := figure.About(d)
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
	return timed(since, figure.About(v.c.cfg.Now().Sub(since)), "")
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

// seconds formats a duration given in seconds, like figure.Duration.
func seconds(s float64) string { return figure.Duration(time.Duration(s * float64(time.Second))) }

// first returns the first n elements of a slice, or fewer if it is shorter.
func first(n int, list any) any {
	v := reflect.ValueOf(list)
	return v.Slice(0, min(n, v.Len())).Interface()
}

// last returns the last n bytes of an id.
func last(n int, id string) string { return id[max(0, len(id)-n):] }

var breaks = strings.NewReplacer("://", "://<wbr>", "/", "<wbr>/", "@", "<wbr>@", "?", "<wbr>?", "&amp;", "<wbr>&amp;", "-", "-<wbr>", "_", "_<wbr>", ":", ":<wbr>")

// label is a dot within a name, not at the end of a sentence or in a number.
var label = regexp.MustCompile(`\.\pL`)

// soft escapes a name or an address, and lets a line end within it.
func soft(text string) template.HTML {
	return template.HTML(label.ReplaceAllString(breaks.Replace(template.HTMLEscapeString(text)), "<wbr>$0"))
}

// account returns the name under which the author's account is watched.
func account(e deliver.Event) string {
	if e.Platform != "" {
		return e.Platform + ":" + e.AuthorUsername
	}
	return e.AuthorUsername
}

// dict makes a map of names and values, for templates with several arguments.
func dict(pairs ...any) map[string]any {
	m := map[string]any{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[fmt.Sprint(pairs[i])] = pairs[i+1]
	}
	return m
}

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
