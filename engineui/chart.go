package engineui

import (
	"strconv"
	"strings"

	"github.com/streamwatch/streamwatch/latency"
)

// stack is one bar of several parts, each a share of the whole. The template "stack" in
// parts.html draws it as SVG with attributes and classes, because the Content-Security-Policy
// allows no styles, and with a text that says the same.
type stack struct {
	Parts []stackPart
	Text  string
}

type stackPart struct {
	X, Width string
	Class    int // 0 to 8: its colour
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

// coord is a coordinate with one decimal.
func coord(f float64) string { return strconv.FormatFloat(f, 'f', 1, 64) }
