package latencybench

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// WriteText writes the figures as a table for people.
func (r *report) WriteText(w io.Writer) error {
	var b strings.Builder
	p := &r.Posts
	fmt.Fprintf(&b, "%d posts: %d scored, %d of the warm-up, %d not published\n", p.Due, p.Scored, p.Warmup, p.Failed)
	if r.Lag.P99 > 100 {
		fmt.Fprintf(&b, "the runner was late: posts were sent %s after they were due (p99)\n", show(&r.Lag.P99))
	}
	if r.Posting.P99 >= 1 {
		fmt.Fprintf(&b, "publishing took %s (p50), %s at most: latencies are too high by up to that\n", show(&r.Posting.P50), show(&r.Posting.Max))
	}
	for i := range r.Channels {
		r.Channels[i].text(&b)
	}
	if r.Overflow > 0 {
		fmt.Fprintf(&b, "%d arrivals were too many to record: the figures are not complete\n", r.Overflow)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *channel) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %d of %d received, %d lost", c.Name, c.Received, c.of, c.Lost)
	if c.Late > 0 {
		fmt.Fprintf(b, " (%d of them came too late)", c.Late)
	}
	fmt.Fprintf(b, ", %d doubles, %d out of order\n", c.Doubles, c.OutOfOrder)
	for _, n := range []struct {
		count int
		what  string
	}{
		{c.Forged, "arrivals with a wrong signature, which do not count"},
		{c.Unsigned, "arrivals without a signature, which do not count"},
		{c.Unverified, "arrivals that could not be verified: no secret was given"},
		{c.Unknown, "arrivals that are not of this run"},
		{c.Blank, "requests or frames without a marker"},
	} {
		if n.count > 0 {
			fmt.Fprintf(b, "  %d %s\n", n.count, n.what)
		}
	}
	for _, p := range c.Percentiles {
		if float64(c.of)*(1-p.Q) < 1 {
			continue // of so few posts it is the maximum
		}
		fmt.Fprintf(b, "  %-6s %-9s 95 %%: %s to %s\n", percent(p.Q), show(p.MS), show(p.Low), showHigh(p.High, c.Lost))
	}
	if c.Received > 0 {
		fmt.Fprintf(b, "  %-6s %s\n", "max", show(&c.Max))
	}
}

func percent(q float64) string { return "p" + strconv.FormatFloat(q*100, 'f', -1, 64) }

// show is a time of a report, to three digits.
func show(v *float64) string {
	if v == nil {
		return "lost"
	}
	value, unit := *v, "ms"
	switch {
	case value >= 999.5:
		value, unit = value/1000, "s"
	case value < 0.9995:
		value, unit = value*1000, "µs"
	}
	if value >= 999.5 { // s
		return strconv.FormatFloat(value, 'f', 0, 64) + " " + unit
	}
	return strconv.FormatFloat(value, 'g', 3, 64) + " " + unit
}

func showHigh(v *float64, lost int) string {
	if v == nil && lost == 0 {
		return "unknown, with so few posts"
	}
	return show(v)
}
