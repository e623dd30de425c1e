package engineprom

import (
	"maps"
	"slices"
	"time"

	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// stages returns the durations of the stages from publication to commit.
func stages(l *latency.Parts) []value {
	return []value{
		{label: "schedule", durations: l.Schedule}, {label: "visibility", durations: l.Visibility}, {label: "failure", durations: l.Failure},
		{label: "queue", durations: l.Queue}, {label: "fetch", durations: l.Fetch}, {label: "process", durations: l.Process},
		{label: "commit", durations: l.Commit},
	}
}

func one(read func(*stats) int64) func(*stats) []value {
	return func(s *stats) []value { return []value{{number: float64(read(s))}} }
}

func number(read func(*stats) float64) func(*stats) []value {
	return func(s *stats) []value { return []value{{number: read(s)}} }
}

func durations(read func(*stats) latency.Snapshot) func(*stats) []value {
	return func(s *stats) []value { return []value{{durations: read(s)}} }
}

// streams returns a function that reads the values of a source's two streams: of accounts and of
// queries.
func streams(read func(*detect.StreamStats) float64) func(*stats) []value {
	return func(s *stats) []value {
		return []value{{label: "accounts", number: read(&s.Detect.Stream)}, {label: "queries", number: read(&s.Detect.SearchStream)}}
	}
}

// nodes returns the number of live nodes.
func nodes(s *stats) []value {
	var n float64
	for i := range s.Fleet.Nodes {
		n += float64(flag(s.Fleet.Nodes[i].Living))
	}
	return []value{{number: n}}
}

func grants(s *stats) (list []value) {
	for _, source := range slices.Sorted(maps.Keys(s.Fleet.Grants)) {
		list = append(list, value{label: source, number: s.Fleet.Grants[source]})
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
