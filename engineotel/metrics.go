package engineotel

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// Source is what metrics are read from: a *streamwatch.Engine.
type Source interface{ Stats() streamwatch.Stats }

// Metrics has mp observe what an engine counts: Stats is read once for each collection.
// Histograms has the durations. The names, which begin with "streamwatch.", and units
// follow https://opentelemetry.io/docs/specs/semconv/general/metrics/. Unregister ends
// it.
func Metrics(engine Source, mp metric.MeterProvider) (metric.Registration, error) {
	if engine == nil || mp == nil {
		return nil, errors.New("engineotel: Metrics without an engine or MeterProvider: want both")
	}
	meter := mp.Meter(scope)
	var rows []observed
	var instruments []metric.Observable
	for _, m := range allMetrics() {
		if m.kind == histogram {
			continue
		}
		o := observed{series: m}
		var err error
		switch name := "streamwatch." + m.name; m.kind {
		case counter:
			o.instrument, err = meter.Float64ObservableCounter(name, metric.WithUnit(m.unit), metric.WithDescription(m.help))
		case level:
			o.instrument, err = meter.Float64ObservableUpDownCounter(name, metric.WithUnit(m.unit), metric.WithDescription(m.help))
		default:
			o.instrument, err = meter.Float64ObservableGauge(name, metric.WithUnit(m.unit), metric.WithDescription(m.help))
		}
		if err != nil {
			return nil, fmt.Errorf("engineotel: %s: %w", m.name, err)
		}
		rows, instruments = append(rows, o), append(instruments, o.instrument)
	}
	return meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		s := engine.Stats()
		for _, o := range rows {
			o.each(&s, func(v value, a attribute.Set) { to.ObserveFloat64(o.instrument, v.number, metric.WithAttributeSet(a)) })
		}
		return nil
	}, instruments...)
}

// observed is a metric with its instrument.
type observed struct {
	series
	instrument metric.Float64Observable
}

type kind uint8

const (
	counter kind = iota // it only grows
	level               // the sum over several engines says something
	gauge               // it does not
	histogram
)

// row is a metric, with a value for each value of its attribute.
type row struct {
	name      string // without the prefix
	kind      kind
	unit      string // https://ucum.org
	help      string
	attribute string // without the prefix; "" for a metric of one value, or of one for each source
	values    func(*streamwatch.Stats) []value
}

// series is a row that may have values for each source.
type series struct {
	row
	ofEach bool
}

// allMetrics is made once.
var allMetrics = sync.OnceValue(func() (all []series) {
	for _, m := range detectionMetrics() {
		all = append(all, series{m, true})
	}
	for _, m := range deliveryMetrics() {
		all = append(all, series{m, false})
	}
	return all
})

// each calls f for each value and its attributes.
func (m *series) each(s *stats, f func(value, attribute.Set)) {
	if !m.ofEach || len(s.Sources) == 0 {
		for _, v := range m.values(s) {
			f(v, m.attributes(v))
		}
		return
	}
	for i, name := range slices.Sorted(maps.Keys(s.Sources)) {
		of := *s
		of.Detect = s.Sources[name]
		for _, v := range m.values(&of) {
			switch {
			case !v.once:
				f(v, m.attributes(v, attribute.String("streamwatch.platform", name)))
			case i == 0:
				f(v, m.attributes(v))
			}
		}
	}
}

func (m *row) attributes(v value, more ...attribute.KeyValue) attribute.Set {
	if m.attribute != "" {
		more = append(more, attribute.String("streamwatch."+m.attribute, v.label))
	}
	return attribute.NewSet(more...)
}

type value struct {
	label     string
	number    float64
	durations latency.Snapshot // of a histogram
	once      bool             // it is of all sources together
}

// stages are the parts of the time from publication to commit.
func stages(l *latency.Parts) []value {
	return []value{
		{label: "schedule", durations: l.Schedule}, {label: "visibility", durations: l.Visibility}, {label: "failure", durations: l.Failure},
		{label: "queue", durations: l.Queue}, {label: "fetch", durations: l.Fetch}, {label: "process", durations: l.Process},
		{label: "commit", durations: l.Commit},
	}
}

// stats keeps the rows below short.
type stats = streamwatch.Stats

func one(read func(*stats) int64) func(*stats) []value {
	return func(s *stats) []value { return []value{{number: float64(read(s))}} }
}

func number(read func(*stats) float64) func(*stats) []value {
	return func(s *stats) []value { return []value{{number: read(s)}} }
}

func durations(read func(*stats) latency.Snapshot) func(*stats) []value {
	return func(s *stats) []value { return []value{{durations: read(s)}} }
}

// planned reads what the plan for the last hour is compared by; 0 before there is one.
func planned(read func(*detect.Comparison) time.Duration) func(*stats) []value {
	return number(func(s *stats) float64 {
		if s.Detect.Forecast == nil {
			return 0
		}
		return seconds(read(s.Detect.Forecast))
	})
}

// streams reads the values of both streams of a source: of accounts and of queries.
func streams(read func(*detect.StreamStats) float64) func(*stats) []value {
	return func(s *stats) []value {
		return []value{{label: "accounts", number: read(&s.Detect.Stream)}, {label: "queries", number: read(&s.Detect.SearchStream)}}
	}
}

// nodes counts the living ones.
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
