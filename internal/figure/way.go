package figure

import (
	"strconv"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/invalid"
)

// Way is the chart of an event's Steps from publication to each acknowledgement.
type Way struct {
	Ticks []string // at equal distances, the first at the publication
	Grid  string   // path through the ticks, in a box of 1000 × 10
	Steps []Step
}

// Step is a row of a Way. Its bar is in a box of 1000 × 10.
type Step struct {
	Name, What string
	Delivery   string // the id, in the first row of a delivery
	Lane, Sum  bool
	At, Took   time.Duration // At is from the publication
	Done       bool          // it has begun
	Class      string        // of the bar
	X, Width   string
}

// units are the distances of ticks.
var units = []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, time.Second, 2 * time.Second,
	5 * time.Second, 10 * time.Second, 20 * time.Second, time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 20 * time.Minute, time.Hour, 2 * time.Hour,
	6 * time.Hour, 12 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour}

// Lane is a delivery of an event.
type Lane struct {
	ID, Name string // Name is that of the receiver
	Log      []deliver.Attempt
}

// NewWay draws an event and its deliveries.
func NewWay(e *deliver.Event, deliveries []Lane) Way {
	var w Way
	begin := e.PublishedAt
	if begin.IsZero() {
		begin = e.DetectedAt
	}
	end := e.CommittedAt
	for i := range deliveries {
		for _, a := range deliveries[i].Log {
			if until := a.At.Add(a.Duration); until.After(end) {
				end = until
			}
		}
	}
	unit := units[len(units)-1]
	for i := len(units) - 1; i >= 0 && units[i] >= end.Sub(begin)/6; i-- {
		unit = units[i]
	}
	ticks := int(end.Sub(begin)/unit) + 1
	whole := time.Duration(ticks) * unit
	for i := range min(ticks, 12) {
		w.Ticks = append(w.Ticks, Duration(time.Duration(i)*unit))
		w.Grid += "M" + coord(1000*float64(i)/float64(ticks)) + " 0V10"
	}
	at := begin
	add := func(s Step, from, until time.Time) {
		s.At, s.Took, s.Done = max(0, from.Sub(begin)), max(0, until.Sub(from)), true
		x := min(997, 1000*float64(s.At)/float64(whole))
		s.X, s.Width = coord(x), coord(max(3, min(1000-x, 1000*float64(s.Took)/float64(whole))))
		w.Steps = append(w.Steps, s)
	}
	next := func(name, what, class string, until time.Time) { // a time that is unknown or before the last leaves out the step, as clocks disagree
		if !until.IsZero() && !until.Before(at) {
			add(Step{Name: name, What: what, Class: class}, at, until)
			at = until
		}
	}
	add(Step{Name: "Published", What: "by the platform’s clock", Class: "f5"}, begin, begin)
	next("Due", "the first poll after the publication", "f0", e.EarliestAt)
	next("Polled", "after waiting for the budget, a limit or a slot", "f1", e.RequestedAt)
	next("Answered", "the call that brought it", "f3", e.FetchedAt)
	next("Judged", "read, and found to be new", "f4", e.DetectedAt)
	next("Committed", "until the store had it", "f5", e.CommittedAt)
	add(Step{Name: "Detected", Sum: true, Class: "f5"}, begin, e.DetectedAt)
	for i := range deliveries {
		d := &deliveries[i]
		first := Step{Name: d.Name, Delivery: d.ID, Lane: true, What: "no attempt yet"}
		last := e.CommittedAt
		for n, a := range d.Log {
			s := Step{Lane: true, Class: "fgood", What: Ordinal(a.N) + " attempt: " + Answer(&a)}
			if n == 0 {
				s.Name, s.Delivery = first.Name, first.Delivery
			} else if a.At.Sub(last) > unit/20 {
				add(Step{Lane: true, What: "waited", Class: "f5 fpart"}, last, a.At)
			}
			if a.Error != "" {
				s.Class = "fbad"
			}
			last = a.At.Add(a.Duration)
			add(s, a.At, last)
		}
		if len(d.Log) == 0 {
			w.Steps = append(w.Steps, first)
		}
	}
	return w
}

// Answer returns what an attempt led to, in a few words.
func Answer(a *deliver.Attempt) string {
	switch {
	case a.StatusCode > 0:
		return strconv.Itoa(a.StatusCode)
	case a.Error != "":
		return invalid.Cut(a.Error, 80)
	}
	return "accepted"
}

// Timeline is a chart of polls: one bar for each, as high as the delay of the posts it found.
type Timeline struct {
	Bars []Bar // in a box of 600 × 100
	From time.Time
	Top  string // value at the upper edge
	Text string
}

// NewTimeline draws the polls of an account, the newest first.
func NewTimeline(polls []detect.PastPoll, now time.Time) Timeline {
	var t Timeline
	if len(polls) == 0 {
		return t
	}
	t.From = polls[len(polls)-1].Begun
	longest, found, failed := time.Second, 0, 0
	for _, p := range polls {
		longest = max(longest, p.LongestWait)
		found += p.Found
		if p.Error != "" {
			failed++
		}
	}
	top := round(longest.Seconds(), 1)
	t.Top = Duration(time.Duration(top * float64(time.Second)))
	t.Text = Count(len(polls)) + " polls since " + t.From.UTC().Format(time.DateTime) + " UTC, " + Count(failed) + " failed, " + Count(found) + " posts found"
	whole := max(now.Sub(t.From), time.Second)
	for _, p := range polls {
		class, height := "f5", 4.0
		switch {
		case p.Error != "":
			class, height = "fbad", 100
		case p.Found > 0:
			class, height = "f0", max(8, 100*p.LongestWait.Seconds()/top)
		case p.Gap:
			class = "f1"
		}
		t.Bars = append(t.Bars, Bar{class, coord(597 * float64(p.Begun.Sub(t.From)) / float64(whole)), coord(100 - height), "3", coord(height)})
	}
	return t
}
