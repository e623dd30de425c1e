package main

import (
	"cmp"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/benchmarks/report"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/fleet"
)

// follow sorts the spans, and finds when others have begun what nodes that ended had.
func (w *world) follow(crashes, stops []crash, out *outcome) {
	for p := range w.spans {
		list := w.spans[p].list
		slices.SortFunc(list, func(a, b span) int { return cmp.Or(a.from.Compare(b.from), a.to.Compare(b.to)) })
	}
	for _, c := range crashes {
		for p := range c.own.All() {
			if next, ok := w.next(p, c.life, c.at); ok {
				out.owners = append(out.owners, next.from.Sub(c.at))
			}
		}
	}
	for _, c := range stops {
		for p := range c.own.All() {
			if next, ok := w.next(p, c.life, c.at); ok {
				out.stops = append(out.stops, next.from.Sub(w.ended(p, c.life)))
			}
		}
	}
	names := sample(w.accounts)
	for _, c := range crashes {
		for _, name := range names {
			if p := partOf(name); c.own.Has(p) {
				if gap, ok := w.gap(name, p, c.at); ok {
					if next, ok := w.next(p, c.life, c.at); ok { // a moment that was missed is after the crash
						gap = min(gap, w.interval+next.from.Sub(c.at))
					}
					out.crashes = append(out.crashes, gap-w.interval)
				}
			}
		}
	}
}

// next is the first span of another life that ends after a time.
func (w *world) next(p fleet.Part, life int, at time.Time) (span, bool) {
	for _, s := range w.spans[p].list {
		if s.life != life && s.to.After(at) {
			return s, true
		}
	}
	return span{}, false
}

// ended is when a life had a part last.
func (w *world) ended(p fleet.Part, life int) (at time.Time) {
	for _, s := range w.spans[p].list {
		if s.life == life && s.to.After(at) {
			at = s.to
		}
	}
	return at
}

// gap is between the last poll of an account up to a time and the first after it.
func (w *world) gap(name string, p fleet.Part, at time.Time) (time.Duration, bool) {
	var last, first time.Time
	for poll := range w.moments(name, at.Add(-3*w.interval), at.Add(5*w.interval)) {
		if w.pollers(p, poll) == 0 {
			continue
		}
		if !poll.After(at) {
			last = poll
		} else {
			first = poll
			break
		}
	}
	return first.Sub(last), !last.IsZero() && !first.IsZero()
}

// moments are those at which an account is due.
func (w *world) moments(name string, from, to time.Time) func(func(time.Time) bool) {
	phase := detect.Phase(name, w.interval)
	return func(yield func(time.Time) bool) {
		at := from.Truncate(0).UnixNano()
		at += (int64(phase) - at%int64(w.interval) + int64(w.interval)) % int64(w.interval)
		for ; at < to.UnixNano(); at += int64(w.interval) {
			if !yield(time.Unix(0, at)) {
				return
			}
		}
	}
}

// pollers is how many nodes poll a part at a moment.
func (w *world) pollers(p fleet.Part, at time.Time) (n int) {
	for _, s := range w.spans[p].list {
		if !s.from.After(at) && s.to.After(at) {
			n++
		}
	}
	return n
}

// judge counts the polls of the sample, from the second minute on.
func (w *world) judge(out *outcome, names []string) {
	end := time.Now().Add(-time.Second)
	begin := end.Add(time.Second - w.For).Add(time.Minute)
	for _, name := range names {
		p := partOf(name)
		for at := range w.moments(name, begin, end) {
			n := w.pollers(p, at)
			out.wanted++
			out.polls += n
			if n > 1 {
				out.twice++
			}
		}
	}
}

func (o outcome) rows() (rows []report.Row) {
	add := func(metric string, value float64, unit string) {
		rows = append(rows, report.Row{Bench: "fleet", Case: o.name, Impl: report.Ours, Metric: metric, Value: value, Unit: unit})
	}
	spread := func(metric string, list []time.Duration) {
		if len(list) == 0 {
			return
		}
		slices.Sort(list)
		for _, q := range []struct {
			name string
			at   float64
		}{{"p50", 0.5}, {"p99", 0.99}, {"max", 1}} {
			add(metric+", "+q.name, list[int(q.at*float64(len(list)-1))].Seconds(), "s")
		}
	}
	add("all start: until every part is polled", o.begun.Seconds(), "s")
	spread("crash: last poll to the first elsewhere, less the interval", o.crashes)
	spread("crash to the owner", o.owners)
	spread("planned stop to the owner", o.stops)
	add("node added: parts moved", float64(o.moved), "parts")
	add("node added: beats", float64(o.beats), "beats")
	add("node added: parts of the most loaded", float64(o.most), "parts")
	add("node added: accounts of the most loaded, by the mean", o.mostAccounts, "times")
	add("polls, by those of one engine", float64(o.polls)/float64(max(1, o.wanted)), "times")
	add("polls made twice", float64(o.twice)/float64(max(1, o.wanted)), "times")
	add("budget: highest sum", o.highest, "times")
	add("budget: lowest sum when steady", o.lowest, "times")
	add("terms lost without a crash", float64(o.lost), "count")
	return rows
}
