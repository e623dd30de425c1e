package figure

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/internal/report"
	"github.com/streamwatch/streamwatch/latency"
)

// Plot is a chart of the steps of a History, in a box of 720 × 120.
type Plot struct {
	Title string
	Key   []Series
	Y, X  []string // labels, from the top and from the left
	Grid  string   // path of the lines behind
	Zero  string   // y of the zero line
	Lines []Line
	Bars  []Bar
	Hits  []Hit
	Text  string // the same in words
}

// Series is an entry of a legend.
type Series struct{ Class, Text string }

// Line is a polyline.
type Line struct{ Class, Points string }

// Bar is a rectangle.
type Bar struct{ Class, X, Y, Width, Height string }

// Hit is a column that tells the figures of its step.
type Hit struct{ X, Width, Text string }

// Plots draws what a History has: events, latency, attempts, calls and, if they cost, their price.
func Plots(h report.History) []*Plot {
	d := drawing{h, 720 / float64(len(h.Steps))}
	in := " in " + Duration(h.Length)
	count := func(f float64) string { return Count(int64(f)) }
	price := func(f float64) string { return strconv.FormatFloat(f, 'f', -1, 32) }
	list := []*Plot{
		d.bars("Events"+in, "f0", count, 2, func(s *report.HistoryStep) (up, down float64, text string) {
			return float64(s.Events), 0, Count(s.Events)
		}),
		d.latency(),
		d.bars("Attempts"+in, "f0", count, 2, func(s *report.HistoryStep) (up, down float64, text string) {
			return float64(s.Acknowledged), float64(s.Failed), Count(s.Acknowledged) + " acknowledged, " + Count(s.Failed) + " failed"
		}, Series{"f0", "2xx, up"}, Series{"fbad", "failed, down, by a scale of their own"}),
		d.bars("Calls"+in, "f4", count, 2, func(s *report.HistoryStep) (up, down float64, text string) {
			return float64(s.Calls), 0, Count(s.Calls) + ", " + Count(s.PollErrors) + " polls failed"
		}),
	}
	if slices.ContainsFunc(h.Steps, func(s report.HistoryStep) bool { return s.Cost > 0 }) {
		list = append(list, d.bars("Price of calls"+in, "f3", price, 0.01, func(s *report.HistoryStep) (up, down float64, text string) {
			return s.Cost, 0, Money(s.Cost)
		}))
	}
	return list
}

type drawing struct {
	h     report.History
	width float64 // of a step
}

// plot begins a plot. tell returns the figures of a step.
func (d drawing) plot(title string, zero float64, tell func(*report.HistoryStep) string) *Plot {
	p := &Plot{Title: title, Zero: coord(zero), Grid: "M0 0H720M0 120H720"}
	format, labels := "15:04", 6
	if d.h.Length > time.Hour {
		format, labels = "Mon", 7
	}
	for n := range labels {
		p.X = append(p.X, d.h.Steps[n*len(d.h.Steps)/labels].From.Format(format))
	}
	for n := range d.h.Steps {
		s := &d.h.Steps[n]
		to, text := s.From.Add(d.h.Length).Format("15:04"), "no engine ran"
		if n == len(d.h.Steps)-1 {
			to = "now"
		}
		if s.Known {
			text = tell(s)
		}
		p.Hits = append(p.Hits, Hit{coord(float64(n) * d.width), coord(d.width), s.From.Format("2 Jan 15:04") + "–" + to + ": " + text})
	}
	p.Text = title + ", at last " + p.Hits[len(p.Hits)-1].Text
	return p
}

// round returns the smallest of 1, 2, 5, 10, 20 … times unit that is at least f.
func round(f, unit float64) float64 {
	for top := unit; ; top *= 10 {
		for _, k := range []float64{1, 2, 5} {
			if k*top >= f {
				return k * top
			}
		}
	}
}

// bars draws amounts upwards and, by a scale of their own, others downwards, in red.
func (d drawing) bars(title, class string, show func(float64) string, unit float64, of func(*report.HistoryStep) (up, down float64, text string), key ...Series) *Plot {
	high, low, zero := 0.0, 0.0, 120.0
	for n := range d.h.Steps {
		up, down, _ := of(&d.h.Steps[n])
		high, low = max(high, up), max(low, down)
	}
	high = round(high, unit)
	if low > 0 {
		low, zero = round(low, unit), 80
	}
	p := d.plot(title, zero, func(s *report.HistoryStep) string {
		_, _, text := of(s)
		return text
	})
	p.Key, p.Y = key, []string{show(high), show(high / 2), "0"}
	if p.Grid += "M0 " + coord(zero/2) + "H720"; low > 0 {
		p.Y = append(p.Y, show(low))
	}
	for n := range d.h.Steps {
		up, down, _ := of(&d.h.Steps[n])
		x, width, part := coord((float64(n)+0.1)*d.width), coord(0.8*d.width), ""
		if n == len(d.h.Steps)-1 {
			part = " fpart"
		}
		if up > 0 {
			height := max(1.5, zero*up/high)
			p.Bars = append(p.Bars, Bar{class + part, x, coord(zero - height), width, coord(height)})
		}
		if down > 0 {
			p.Bars = append(p.Bars, Bar{"fbad" + part, x, coord(zero), width, coord(max(1.5, (120-zero)*down/low))})
		}
	}
	return p
}

// latency draws quantiles on a logarithmic scale.
func (d drawing) latency() *Plot {
	tell := func(s latency.Snapshot) string {
		if s.Count() == 0 {
			return "nothing acknowledged"
		}
		return "p50 " + Duration(s.Quantile(0.5)) + ", p95 " + Duration(s.Quantile(0.95)) + ", p99 " + Duration(s.Quantile(0.99))
	}
	p := d.plot("Publication to 2xx", 120, func(s *report.HistoryStep) string { return tell(s.Latency) })
	var whole latency.Snapshot
	least, most := time.Hour, 10*time.Millisecond
	for _, s := range d.h.Steps {
		if s.Latency.Count() > 0 {
			least, most = min(least, s.Latency.Quantile(0.5)), max(most, s.Latency.Quantile(0.99))
		}
		whole = whole.Add(s.Latency)
	}
	p.Text = "Publication to 2xx, of all steps: " + tell(whole)
	floor := time.Millisecond
	for floor*10 <= min(least, most/10) {
		floor *= 10
	}
	decades := math.Max(1, math.Ceil(math.Log10(float64(most)/float64(floor))))
	y := func(at time.Duration) float64 {
		return 120 - 120*max(0, math.Log10(float64(max(at, 1))/float64(floor)))/decades
	}
	for k := decades; k >= 0; k-- {
		at := time.Duration(float64(floor) * math.Pow(10, k))
		label := Duration(at)
		if at > time.Minute { // shorter than in minutes: the axis is narrow
			label = Count(int64(at/time.Second)) + "\u00a0s"
		}
		p.Y = append(p.Y, label)
		p.Grid += "M0 " + coord(y(at)) + "H720"
	}
	for i, q := range []float64{0.5, 0.95, 0.99} {
		class := strconv.Itoa(i)
		p.Key = append(p.Key, Series{"f" + class, []string{"p50", "p95", "p99"}[i]})
		var points []string
		end := func() {
			if len(points) == 1 {
				points = append(points, points[0]) // the round ends of a line make it a point
			}
			if len(points) > 0 {
				p.Lines = append(p.Lines, Line{"l" + class, strings.Join(points, " ")})
			}
			points = nil
		}
		for n, s := range d.h.Steps {
			if s.Latency.Count() == 0 {
				end()
				continue
			}
			points = append(points, coord((float64(n)+0.5)*d.width)+","+coord(y(s.Latency.Quantile(q))))
		}
		end()
	}
	return p
}

// Stack is a bar of several parts, each a share of the whole, in a box of 100 × 10.
type Stack struct {
	Parts []StackPart
	Text  string
}

// StackPart is a part of a Stack.
type StackPart struct {
	X, Width, Class, Name string
	Share                 float64
}

// NewStack draws the causes of a latency.
func NewStack(causes []latency.Cause) Stack {
	var s Stack
	var texts []string
	x := 0.0
	for i, c := range causes {
		if c.Share > 0 {
			texts = append(texts, c.Name+" "+Share(c.Share))
		}
		s.Parts = append(s.Parts, StackPart{coord(x), coord(max(0, 100*c.Share-0.2)), []string{"f0", "f4", "f3", "f5", "f1", "fwarn", "f2", "fgood"}[i%8], c.Name, c.Share})
		x += 100 * c.Share
	}
	if s.Text = strings.Join(texts, ", "); s.Text == "" {
		s.Text = "nothing"
	}
	return s
}

// coord formats a coordinate with one decimal.
func coord(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
