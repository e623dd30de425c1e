package latencybench

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// write writes the figures as a table.
func (r *report) write(w io.Writer) error {
	var b strings.Builder
	p := &r.posts
	fmt.Fprintf(&b, "%d posts: %d scored, %d of the warm-up, %d not published\n", p.due, p.scored, p.warmup, p.failed)
	fmt.Fprintf(&b, "posts were sent %s (p50), %s (p99) and at most %s after they were due\n", show(r.lag.p50), show(r.lag.p99), show(r.lag.longest))
	if r.posting.p99 >= time.Millisecond {
		fmt.Fprintf(&b, "publishing took %s (p50), %s at most: latencies are too high by up to that\n", show(r.posting.p50), show(r.posting.longest))
	}
	for i := range r.channels {
		r.channels[i].text(&b)
	}
	if r.overflow > 0 {
		fmt.Fprintf(&b, "%d arrivals were too many to record: the figures are not complete\n", r.overflow)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (c *channel) text(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %d of %d received, %d lost", c.name, c.received, c.of, c.lost)
	if c.late > 0 {
		fmt.Fprintf(b, " (%d of them came too late)", c.late)
	}
	fmt.Fprintf(b, ", %d doubles (%d of them redelivered), %d out of order\n", c.doubles, c.redelivered, c.outOfOrder)
	for _, n := range []struct {
		count int
		what  string
	}{
		{c.forged, "arrivals with a wrong signature, which do not count"},
		{c.unsigned, "arrivals without a signature, which do not count"},
		{c.unverified, "arrivals that could not be verified: no secret was given"},
		{c.unknown, "arrivals that are not of this run"},
		{c.blank, "requests or frames without a marker"},
	} {
		if n.count > 0 {
			fmt.Fprintf(b, "  %d %s\n", n.count, n.what)
		}
	}
	for _, p := range c.percentiles {
		if float64(c.of)*(1-p.q) < 1 {
			continue // of so few posts it is the maximum
		}
		fmt.Fprintf(b, "  %-6s %-9s 95 %%: %s to %s\n", percent(p.q), show(p.at), show(p.low), showHigh(p.high, c.lost))
	}
	if c.received > 0 {
		fmt.Fprintf(b, "  %-6s %s\n", "max", show(c.times[len(c.times)-1]))
	}
}

func percent(q float64) string { return "p" + strconv.FormatFloat(q*100, 'f', -1, 64) }

// show writes a time to three digits.
func show(d time.Duration) string {
	if d == lost {
		return "lost"
	}
	digits := time.Nanosecond
	for ; d/digits >= 1000; digits *= 10 {
	}
	return d.Round(digits).String()
}

func showHigh(d time.Duration, lostPosts int) string {
	if d == lost && lostPosts == 0 {
		return "unknown, with so few posts"
	}
	return show(d)
}
