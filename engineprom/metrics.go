package engineprom

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/latency"
)

// metric is a statistic of an engine.
type metric struct {
	name   string // without the prefix
	kind   prometheus.ValueType
	help   string
	label  string // name of the label that distinguishes values; "" if there is only one
	values func(*stats) []value
}

const (
	counter   = prometheus.CounterValue
	gauge     = prometheus.GaugeValue
	histogram = prometheus.UntypedValue // its values are durations
)

// value is one value of a metric.
type value struct {
	label     string
	number    float64
	durations latency.Snapshot // for a histogram
	together  bool             // the value is for all sources together; other values of the metric are per source
}

// stats shortens the rows of the tables.
type stats = streamwatch.Stats

// figure is a metric with where it applies.
type figure struct {
	metric
	perSource bool // if there are several sources, each has a value
}

// all returns every figure.
func all() (list []figure) {
	for _, m := range detection() {
		list = append(list, figure{m, true})
	}
	for _, m := range together() {
		list = append(list, figure{m, false})
	}
	return list
}

// each calls f for each value in s. source is the source that the value belongs to, or "" if it
// belongs to the engine as a whole.
func (m *figure) each(s *stats, f func(v value, source string)) {
	if !m.perSource || len(s.Sources) == 0 {
		for _, v := range m.values(s) {
			f(v, "")
		}
		return
	}
	for i, source := range slices.Sorted(maps.Keys(s.Sources)) {
		of := *s
		of.Detect = s.Sources[source]
		for _, v := range m.values(&of) {
			switch {
			case !v.together:
				f(v, source)
			case i == 0:
				f(v, "")
			}
		}
	}
}
