package engineui

import (
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// Charts are SVG, drawn by the templates "spread", "stack" and "lines" in parts.html. They use
// attributes and classes, because the Content-Security-Policy allows no inline styles. Each has
// a text with the same content for people who do not see it.

// axis maps durations to the range 0 to 100 on a logarithmic scale.
type axis struct{ From, To time.Duration }

// newAxis returns an axis from 10 µs to the smallest power of ten that is at least most and 10
// ms.
func newAxis(most time.Duration) axis {
	a := axis{10 * time.Microsecond, 10 * time.Millisecond}
	for a.To < most && a.To < 1e6*time.Second {
		a.To *= 10
	}
	return a
}

func (a axis) at(d time.Duration) float64 {
	if d <= a.From {
		return 0
	}
	return min(100, 100*math.Log(float64(d)/float64(a.From))/math.Log(float64(a.To)/float64(a.From)))
}

// spread is the chart of a histogram: a line from p50 to p99 with marks at p50, p95 and p99.
type spread struct {
	X50, X95, X99, Width string
	Text                 string
	Empty                bool
}

func newSpread(a axis, s latency.Snapshot) spread {
	if s.Count() == 0 {
		return spread{Empty: true, Text: "nothing"}
	}
	x50, x95, x99 := a.at(s.Quantile(0.5)), a.at(s.Quantile(0.95)), a.at(s.Quantile(0.99))
	return spread{X50: coord(x50), X95: coord(x95), X99: coord(x99), Width: coord(x99 - x50),
		Text: "p50 " + dur(s.Quantile(0.5)) + ", p95 " + dur(s.Quantile(0.95)) + ", p99 " + dur(s.Quantile(0.99))}
}

// stack is a bar of several parts, each a share of the whole.
type stack struct {
	Parts []stackPart
	Text  string
}

type stackPart struct {
	X, Width string
	Class    int // color: 0 to 8
	Name     string
	Share    float64
}

func newStack(causes []latency.Cause) stack {
	var s stack
	var texts []string
	x := 0.0
	for i, c := range causes {
		if c.Share > 0 {
			texts = append(texts, c.Name+" "+pct(c.Share))
		}
		s.Parts = append(s.Parts, stackPart{coord(x), coord(100 * c.Share), i % 9, c.Name, c.Share})
		x += 100 * c.Share
	}
	if s.Text = strings.Join(texts, ", "); s.Text == "" {
		s.Text = "nothing"
	}
	return s
}

// lines is a chart of values over time. Points that are NaN are omitted.
type lines struct {
	Lines []line
	Top   string // value at the upper edge
	Start string
	Text  string
}

type line struct {
	Name   string
	Class  int
	Points []string // points of the polylines, in a box of 600 × 100
}

// newLines draws series of equal length over equal steps. The scale runs from 0 to the largest
// value.
func newLines(names []string, series [][]float64, show func(float64) string) lines {
	var l lines
	top := 0.0
	for _, s := range series {
		for _, v := range s {
			if !math.IsNaN(v) {
				top = max(top, v)
			}
		}
	}
	l.Top = show(top)
	var texts []string
	for i, s := range series {
		one := line{Name: names[i], Class: i}
		var run []string
		end := func() {
			if len(run) == 1 {
				run = append(run, run[0])
			}
			if len(run) > 0 {
				one.Points = append(one.Points, strings.Join(run, " "))
			}
			run = nil
		}
		last := math.NaN()
		for n, v := range s {
			if math.IsNaN(v) {
				end()
				continue
			}
			last = v
			x, y := 0.0, 100.0
			if len(s) > 1 {
				x = 600 * float64(n) / float64(len(s)-1)
			}
			if top > 0 {
				y = 100 - 100*v/top
			}
			run = append(run, coord(x)+","+coord(y))
		}
		end()
		if !math.IsNaN(last) {
			texts = append(texts, names[i]+" at last "+show(last))
		}
		l.Lines = append(l.Lines, one)
	}
	if l.Text = strings.Join(texts, ", "); l.Text == "" {
		l.Text = "nothing"
	}
	return l
}

// coord formats a coordinate with one decimal.
func coord(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
