package engineprom

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/latency"
)

// metric is a figure of an engine.
type metric struct {
	name   string // without the prefix
	kind   prometheus.ValueType
	help   string
	label  string // the name of the values' label; "" for a figure of one value
	values func(*stats) []value
}

const (
	counter   = prometheus.CounterValue
	gauge     = prometheus.GaugeValue
	histogram = prometheus.UntypedValue // its values have durations
)

// value is a value of a figure.
type value struct {
	label     string
	number    float64
	durations latency.Snapshot // of a histogram
	together  bool             // all sources have it together, though the figure's other values are of each
}

// stats keeps the rows short.
type stats = streamwatch.Stats

// figure is a metric in its table.
type figure struct {
	metric
	perSource bool // each source has it, when there are several
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

// each calls f with each value in s and the source it is of, "" where it is of the engine
// as a whole.
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
