package report

import (
	"fmt"
	"html"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
)

// The picture, in pixels: two panels side by side below a title.
const (
	width, height = 960, 420
	panelWidth    = 390
	panelHeight   = 270
	panelTop      = 90
	leftPanel     = 70
	rightPanel    = 530
)

// colours are those of the channels; line styles tell them apart without colour.
var (
	colours = []string{"#1f5fa8", "#b3541e", "#3d7a3d"}
	dashes  = []string{"", "7 4", "2 3"}
)

// WriteSVG writes a picture: how late which share of the posts arrived, and how many
// took how long. Both axes of time are logarithmic.
func (r *Report) WriteSVG(w io.Writer, title string) error {
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" font-family="sans-serif" font-size="12" fill="#222">`+"\n", width, height)
	fmt.Fprintf(&b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", width, height)
	label(&b, 20, 28, "start", 16, title)
	label(&b, 20, 48, "start", 12, fmt.Sprintf("%s, %d posts scored; publication to arrival; lost posts count as infinitely late", r.Started.UTC().Format("2006-01-02 15:04 MST"), r.Posts.Scored))
	low, high := r.span()
	y := axis{low, high, panelTop + panelHeight, panelTop}
	x := axis{low, high, rightPanel, rightPanel + panelWidth}
	r.curves(&b, y)
	r.bars(&b, x)
	for i := range r.Channels {
		c := &r.Channels[i]
		at := 20 + i*300
		line(&b, i, fmt.Sprintf("M%d 64H%d", at, at+26))
		label(&b, float64(at+32), 68, "start", 12, fmt.Sprintf("%s: %d lost, %d doubles", c.Name, c.Lost, c.Doubles))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// axis maps a logarithm of milliseconds to pixels.
type axis struct{ low, high, from, to float64 }

func (a axis) at(v float64) float64 {
	return a.from + (math.Log10(max(v, 1e-3))-a.low)/(a.high-a.low)*(a.to-a.from)
}

// span gives the powers of ten between which all times lie.
func (r *Report) span() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for i := range r.Channels {
		if t := r.Channels[i].times; len(t) > 0 {
			low = min(low, math.Floor(math.Log10(max(ms(t[0]), 1e-3))))
			high = max(high, math.Ceil(math.Log10(max(ms(t[len(t)-1]), 1e-3))))
		}
	}
	if low > high {
		return 0, 1
	}
	return low, max(high, low+1)
}

// curves draws latency over the share of the posts, by the logarithm of what is left.
func (r *Report) curves(b *strings.Builder, y axis) {
	decades := 1.0 // of 1/(1-q)
	for r.Posts.Scored > 0 && decades < 5 && math.Pow(10, decades) < float64(r.Posts.Scored) {
		decades++
	}
	x := func(q float64) float64 { return leftPanel + panelWidth*min(1, -math.Log10(1-q)/decades) }
	frame(b, leftPanel, "share of the posts")
	for v := y.low; v <= y.high; v++ {
		at := y.at(math.Pow(10, v))
		rule(b, leftPanel, at, leftPanel+panelWidth, at)
		label(b, leftPanel-6, at+4, "end", 11, tick(v))
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999} {
		if -math.Log10(1-q) <= decades {
			rule(b, x(q), panelTop, x(q), panelTop+panelHeight)
			label(b, x(q), panelTop+panelHeight+16, "middle", 11, strconv.FormatFloat(q*100, 'f', -1, 64)+" %")
		}
	}
	for i := range r.Channels {
		c := &r.Channels[i]
		var path strings.Builder
		step := max(1, len(c.times)/1000)
		for n, d := range c.times {
			if q := float64(n) / float64(c.of); n%step == 0 || n > len(c.times)-100 {
				command := "L"
				if n == 0 {
					command = "M"
				}
				fmt.Fprintf(&path, "%s%.1f %.1f", command, x(q), y.at(ms(d)))
			}
		}
		line(b, i, path.String())
	}
}

// bars draws how many posts took how long.
func (r *Report) bars(b *strings.Builder, x axis) {
	most := 1
	for i := range r.Channels {
		for _, k := range r.Channels[i].Histogram {
			most = max(most, k.Count)
		}
	}
	frame(b, rightPanel, "latency")
	for v := x.low; v <= x.high; v++ {
		at := x.at(math.Pow(10, v))
		rule(b, at, panelTop, at, panelTop+panelHeight)
		label(b, at, panelTop+panelHeight+16, "middle", 11, tick(v))
	}
	label(b, rightPanel-6, panelTop+8, "end", 11, strconv.Itoa(most))
	label(b, rightPanel-6, panelTop+panelHeight, "end", 11, "0")
	for i := range r.Channels {
		for _, k := range r.Channels[i].Histogram {
			from, to := max(x.from, x.at(k.From)), min(x.to, x.at(k.UpTo))
			h := float64(k.Count) / float64(most) * panelHeight
			fmt.Fprintf(b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s" fill-opacity="0.45"/>`+"\n",
				from, panelTop+panelHeight-h, max(0.5, to-from), h, colours[i%len(colours)])
		}
	}
}

func frame(b *strings.Builder, left float64, caption string) {
	fmt.Fprintf(b, `<rect x="%.0f" y="%d" width="%d" height="%d" fill="none" stroke="#444"/>`+"\n", left, panelTop, panelWidth, panelHeight)
	label(b, left+panelWidth/2, panelTop+panelHeight+38, "middle", 12, caption)
}

func rule(b *strings.Builder, x1, y1, x2, y2 float64) {
	fmt.Fprintf(b, `<path d="M%.1f %.1fL%.1f %.1f" stroke="#ddd"/>`+"\n", x1, y1, x2, y2)
}

func line(b *strings.Builder, channel int, path string) {
	fmt.Fprintf(b, `<path d="%s" fill="none" stroke="%s" stroke-width="2" stroke-dasharray="%s"/>`+"\n",
		path, colours[channel%len(colours)], dashes[channel%len(dashes)])
}

func label(b *strings.Builder, x, y float64, anchor string, size int, text string) {
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f" text-anchor="%s" font-size="%d">%s</text>`+"\n", x, y, anchor, size, html.EscapeString(text))
}

// tick names a power of ten of a millisecond.
func tick(power float64) string {
	return strings.ReplaceAll(time.Duration(math.Round(math.Pow(10, power)*float64(time.Millisecond))).String(), "m0s", "m")
}
