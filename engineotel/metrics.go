package engineotel

import (
	"context"
	"errors"
	"fmt"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/internal/metrics"
)

// Source is what metrics are read from: a *streamwatch.Engine.
type Source interface{ Stats() streamwatch.Stats }

// Metrics makes mp observe what an engine counts, until Unregister of the result is called.
// Stats is read once for each collection. The names begin with "streamwatch."; they and the
// units follow https://opentelemetry.io/docs/specs/semconv/general/metrics/. Durations are in
// Histograms.
func Metrics(engine Source, mp metric.MeterProvider) (metric.Registration, error) {
	if engine == nil || mp == nil {
		return nil, errors.New("engineotel: Metrics without an engine or MeterProvider: want both")
	}
	meter := mp.Meter(scope)
	var all []observed
	var instruments []metric.Observable
	for _, m := range metrics.All() {
		if m.Kind == metrics.Histogram {
			continue
		}
		o := observed{Metric: m}
		var err error
		switch text := m.OpenTelemetry; m.Kind {
		case metrics.Counter:
			o.instrument, err = meter.Float64ObservableCounter(text.Name, metric.WithUnit(m.Unit), metric.WithDescription(text.Help))
		case metrics.Level:
			o.instrument, err = meter.Float64ObservableUpDownCounter(text.Name, metric.WithUnit(m.Unit), metric.WithDescription(text.Help))
		default:
			o.instrument, err = meter.Float64ObservableGauge(text.Name, metric.WithUnit(m.Unit), metric.WithDescription(text.Help))
		}
		if err != nil {
			return nil, fmt.Errorf("engineotel: %s: %w", m.OpenTelemetry.Name, err)
		}
		all, instruments = append(all, o), append(instruments, o.instrument)
	}
	return meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		s := engine.Stats()
		for _, o := range all {
			o.Each(&s, func(v metrics.Value, source string, ofSource bool) {
				to.ObserveFloat64(o.instrument, v.Number, metric.WithAttributeSet(attributes(&o.Metric, v, source, ofSource)))
			})
		}
		return nil
	}, instruments...)
}

// observed is a metric with its instrument.
type observed struct {
	metrics.Metric
	instrument metric.Float64Observable
}

// attributes are those of a value of m.
func attributes(m *metrics.Metric, v metrics.Value, source string, ofSource bool) attribute.Set {
	var list []attribute.KeyValue
	if ofSource {
		list = append(list, attribute.String("streamwatch.platform", source))
	}
	if m.OpenTelemetry.Label != "" {
		list = append(list, attribute.String(m.OpenTelemetry.Label, v.Label))
	}
	return attribute.NewSet(list...)
}
