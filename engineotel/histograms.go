package engineotel

import (
	"context"
	"slices"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/streamwatch/streamwatch/latency"
)

// bounds of the histograms, in seconds: from 1 ms to an hour.
var bounds = []float64{
	0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600,
}

// Histograms returns what brings the durations in an engine's Stats to a metric.Reader, as
// an option of it: sdkmetric.WithProducer. No instrument can: those that are observed have
// no histograms. They are cumulative, whatever temporality the reader asks for.
func Histograms(engine Source) sdkmetric.Producer { return &producer{engine, time.Now()} }

type producer struct {
	engine Source
	start  time.Time
}

// Produce implements sdkmetric.Producer.
func (p *producer) Produce(context.Context) ([]metricdata.ScopeMetrics, error) {
	s := p.engine.Stats()
	now := time.Now()
	sm := metricdata.ScopeMetrics{Scope: instrumentation.Scope{Name: scope}}
	for _, m := range allMetrics() {
		if m.kind != histogram {
			continue
		}
		h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
		m.each(&s, func(v value, a attribute.Set) {
			dp := point(v.durations)
			dp.Attributes, dp.StartTime, dp.Time = a, p.start, now
			h.DataPoints = append(h.DataPoints, dp)
		})
		sm.Metrics = append(sm.Metrics, metricdata.Metrics{Name: "streamwatch." + m.name, Description: m.help, Unit: m.unit, Data: h})
	}
	return []metricdata.ScopeMetrics{sm}, nil
}

func point(s latency.Snapshot) metricdata.HistogramDataPoint[float64] {
	dp := metricdata.HistogramDataPoint[float64]{Count: uint64(s.Count()), Sum: s.Sum().Seconds(), Bounds: slices.Clone(bounds)}
	before := int64(0)
	for _, b := range bounds {
		n := s.AtMost(time.Duration(b * float64(time.Second)))
		dp.BucketCounts, before = append(dp.BucketCounts, uint64(n-before)), n
	}
	dp.BucketCounts = append(dp.BucketCounts, uint64(s.Count()-before))
	return dp
}
