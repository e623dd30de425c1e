package report

import (
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// Range is a stretch of History.
type Range int

// The stretches. Their steps begin at round times, in UTC.
const (
	LastHour Range = iota // by the minute
	LastDay               // by 20 minutes
	LastWeek              // by 2 hours
)

// ranges has the length and number of the steps of each Range.
var ranges = [...]struct {
	length time.Duration
	steps  int
}{LastHour: {time.Minute, 60}, LastDay: {20 * time.Minute, 72}, LastWeek: {2 * time.Hour, 84}}

// Valid reports whether r is one of the stretches.
func (r Range) Valid() bool { return r >= 0 && int(r) < len(ranges) }

// History has the figures of a Range, of all nodes of a fleet together.
type History struct {
	Length time.Duration // of a step
	Steps  []HistoryStep // all of the range, oldest first; the last one is not over
	Nodes  []HistoryNode // whose figures these are
}

// HistoryNode is an engine, and when it counted.
type HistoryNode struct {
	Name string // "" without a fleet
	At   time.Time
}

// HistoryStep has the figures of a step.
type HistoryStep struct {
	From  time.Time
	Known bool // an engine ran during the step, or a part of it

	Events, Calls, Polls, PollErrors int64   // see detect.Stats; of accounts and queries
	Cost                             float64 // of the calls: see detect.CostStats
	// Attempts are the attempts that ended in the step: those Acknowledged and those that Failed.
	Attempts, Acknowledged, Failed int64
	// Latency is from publication to acknowledgement, of the Acknowledged, and Causes where that time
	// went. Both are without replays, and without posts that have no time.
	Latency latency.Snapshot
	Causes  []latency.Cause
}

// step is a HistoryStep as it is kept: without Causes, but with the time that each took.
type step struct {
	HistoryStep
	Took [causes]time.Duration // of all in Latency
}

// add adds the figures of other.
func (s *step) add(other *step) {
	s.Known = true
	s.Events += other.Events
	s.Calls += other.Calls
	s.Polls += other.Polls
	s.PollErrors += other.PollErrors
	s.Cost += other.Cost
	s.Attempts += other.Attempts
	s.Acknowledged += other.Acknowledged
	s.Failed += other.Failed
	s.Latency = s.Latency.Add(other.Latency)
	for i, took := range other.Took {
		s.Took[i] += took
	}
}

// ring has the last steps of a Range, sorted by time. It leaves out those during which no engine ran.
type ring []step

// add adds figures to the step at a time, and drops steps that are too old.
func (g *ring) add(r Range, at time.Time, more *step) {
	from := at.UTC().Truncate(ranges[r].length)
	i, there := slices.BinarySearchFunc(*g, from, func(s step, from time.Time) int { return s.From.Compare(from) })
	if !there {
		*g = slices.Insert(*g, i, step{HistoryStep: HistoryStep{From: from}})
	}
	(*g)[i].add(more)
	if n := len(*g) - ranges[r].steps; n > 0 {
		*g = slices.Delete(*g, 0, n)
	}
}

// Sum adds up the figures of reports, until now.
func Sum(r Range, now time.Time, reports []Report) History {
	length, n := ranges[r].length, ranges[r].steps
	first := now.UTC().Truncate(length).Add(-time.Duration(n-1) * length)
	h := History{Length: length, Steps: make([]HistoryStep, n)}
	sums := make([]step, n)
	for i := range sums {
		sums[i].From = first.Add(time.Duration(i) * length)
	}
	for i := range reports {
		if reports[i].old(now) {
			continue
		}
		h.Nodes = append(h.Nodes, HistoryNode{reports[i].Node, reports[i].At})
		for k := range reports[i].Rings[r] {
			s := &reports[i].Rings[r][k]
			if at := s.From.Sub(first); at >= 0 && at < time.Duration(n)*length {
				sums[at/length].add(s)
			}
		}
	}
	for i := range sums {
		h.Steps[i] = sums[i].HistoryStep
		h.Steps[i].Causes = causesOf(&sums[i])
	}
	return h
}
