package metrics

import (
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// stages are the parts of the time from publication to commit.
func stages(l *latency.Parts) []Value {
	return []Value{
		{Label: "schedule", Durations: l.Schedule}, {Label: "visibility", Durations: l.Visibility}, {Label: "failure", Durations: l.Failure},
		{Label: "queue", Durations: l.Queue}, {Label: "fetch", Durations: l.Fetch}, {Label: "process", Durations: l.Process},
		{Label: "commit", Durations: l.Commit},
	}
}

func one(read func(*stats) int64) func(*stats) []Value {
	return func(s *stats) []Value { return []Value{{Number: float64(read(s))}} }
}

func number(read func(*stats) float64) func(*stats) []Value {
	return func(s *stats) []Value { return []Value{{Number: read(s)}} }
}

func durations(read func(*stats) latency.Snapshot) func(*stats) []Value {
	return func(s *stats) []Value { return []Value{{Durations: read(s)}} }
}

// streams reads the values of both streams of a source: of accounts and of queries.
func streams(read func(*detect.StreamStats) float64) func(*stats) []Value {
	return func(s *stats) []Value {
		return []Value{{Label: "accounts", Number: read(&s.Detect.Stream)}, {Label: "queries", Number: read(&s.Detect.SearchStream)}}
	}
}

// nodes counts the living ones.
func nodes(s *stats) []Value {
	var n float64
	for i := range s.Fleet.Nodes {
		n += float64(flag(s.Fleet.Nodes[i].Living))
	}
	return []Value{{Number: n}}
}

func grants(s *stats) (list []Value) {
	for _, source := range slices.Sorted(maps.Keys(s.Fleet.Grants)) {
		list = append(list, Value{Label: source, Number: s.Fleet.Grants[source]})
	}
	return list
}

func seconds(d time.Duration) float64 { return d.Seconds() }

func flag(set bool) int64 {
	if set {
		return 1
	}
	return 0
}
