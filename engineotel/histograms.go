package engineotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/sdk/instrumentation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/streamwatch/streamwatch/internal/metrics"
	"github.com/streamwatch/streamwatch/latency"
)

// Histograms returns a Producer of the durations in an engine's Stats, for a metric.Reader:
// see sdkmetric.WithProducer. Metrics cannot have them, since no observable instrument is a
// histogram. They are cumulative, whatever temporality the reader asks for.
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
	for _, m := range metrics.All() {
		if m.Kind != metrics.Histogram {
			continue
		}
		h := metricdata.Histogram[float64]{Temporality: metricdata.CumulativeTemporality}
		m.Each(&s, func(v metrics.Value, source string, ofSource bool) {
			dp := point(v.Durations)
			dp.Attributes, dp.StartTime, dp.Time = attributes(&m, v, source, ofSource), p.start, now
			h.DataPoints = append(h.DataPoints, dp)
		})
		sm.Metrics = append(sm.Metrics, metricdata.Metrics{Name: m.OpenTelemetry.Name, Description: m.OpenTelemetry.Help, Unit: m.Unit, Data: h})
	}
	return []metricdata.ScopeMetrics{sm}, nil
}

func point(s latency.Snapshot) metricdata.HistogramDataPoint[float64] {
	dp := metricdata.HistogramDataPoint[float64]{Count: uint64(s.Count()), Sum: s.Sum().Seconds(), Bounds: metrics.Bounds()}
	before := int64(0)
	for _, b := range dp.Bounds {
		n := s.AtMost(time.Duration(b * float64(time.Second)))
		dp.BucketCounts, before = append(dp.BucketCounts, uint64(n-before)), n
	}
	dp.BucketCounts = append(dp.BucketCounts, uint64(s.Count()-before))
	return dp
}
