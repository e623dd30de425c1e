package metrics

import (
	"maps"
	"slices"
	"strings"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/latency"
)

// Kind says what becomes of a figure.
type Kind uint8

const (
	Counter   Kind = iota // it only grows
	Level                 // its sum over several engines says something
	Gauge                 // its sum does not
	Histogram             // its values are Durations
)

// Metric is a figure of an engine.
type Metric struct {
	Prometheus, OpenTelemetry Text
	Kind                      Kind
	Unit                      string // https://ucum.org
	PerSource                 bool   // each source has it, when there are several
	values                    func(*stats) []Value
}

// Text is how a figure is shown, by the conventions of who reads it.
type Text struct {
	Name  string // in full
	Help  string
	Label string // of several values, what tells them apart; "" for a figure of one
}

// Value is a value of a figure.
type Value struct {
	Label     string
	Number    float64
	Durations latency.Snapshot // of a histogram
	together  bool             // all sources have it together, though the figure's other values are of each
}

// Bounds are the upper bounds of a histogram's buckets, in seconds: from 1 ms to an hour.
func Bounds() []float64 {
	return []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}
}

// All returns every figure.
func All() (all []Metric) {
	for _, r := range detection() {
		all = append(all, r.metric(true))
	}
	for _, r := range together() {
		all = append(all, r.metric(false))
	}
	return all
}

// Each calls f with each value in s and the source it is of. ofSource is false, and source
// is "", where it is of the engine as a whole.
func (m *Metric) Each(s *streamwatch.Stats, f func(v Value, source string, ofSource bool)) {
	if !m.PerSource || len(s.Sources) == 0 {
		for _, v := range m.values(s) {
			f(v, "", false)
		}
		return
	}
	for i, source := range slices.Sorted(maps.Keys(s.Sources)) {
		of := *s
		of.Detect = s.Sources[source]
		for _, v := range m.values(&of) {
			switch {
			case !v.together:
				f(v, source, true)
			case i == 0:
				f(v, "", false)
			}
		}
	}
}

// stats keeps the rows short.
type stats = streamwatch.Stats

// row is a figure as the tables have it: names without their prefixes.
type row struct {
	prometheus, openTelemetry string
	kind                      Kind
	unit                      string
	help                      string // demand stands for a name
	label                     label
	values                    func(*stats) []Value
}

// demand stands in a help for the name of the figure budget.demand.
const demand = "{demand}"

// label is what tells values apart, as the two call it, without a prefix.
type label struct{ prometheus, openTelemetry string }

var (
	none       = label{}
	outcome    = label{"outcome", "delivery.outcome"}
	platform   = label{"of", "platform"}
	reason     = label{"reason", "drop.reason"}
	resource   = label{"resource", "resource"}
	stage      = label{"stage", "stage"}
	targetKind = label{"of", "target.kind"}
)

func (r *row) metric(perSource bool) Metric {
	m := Metric{Kind: r.kind, Unit: r.unit, PerSource: perSource, values: r.values,
		Prometheus: Text{"streamwatch_" + r.prometheus, strings.ReplaceAll(r.help, demand, "budget_demand_polls_per_second"), r.label.prometheus}}
	m.OpenTelemetry = Text{"streamwatch." + r.openTelemetry, strings.ReplaceAll(r.help, demand, "budget.demand"), ""}
	if r.label != none {
		m.OpenTelemetry.Label = "streamwatch." + r.label.openTelemetry
	}
	return m
}
