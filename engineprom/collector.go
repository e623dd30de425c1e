package engineprom

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/internal/metrics"
	"github.com/streamwatch/streamwatch/latency"
)

// Source is what a Collector reads: a *streamwatch.Engine.
type Source interface{ Stats() streamwatch.Stats }

// Options tune a Collector. The zero value means the defaults.
type Options struct {
	// Labels are added to every metric, such as the instance's name.
	Labels prometheus.Labels
	// Buckets are the upper bounds of the histograms, in seconds, ascending and
	// above 0. Defaults to DefaultBuckets.
	Buckets []float64
}

// DefaultBuckets are from 1 ms to an hour.
var DefaultBuckets = metrics.Bounds()

// Collector is a prometheus.Collector, safe for concurrent use.
type Collector struct {
	source  Source
	metrics []metrics.Metric
	descs   []*prometheus.Desc // of metrics, in their order
	several bool               // there are Config.Sources: metrics have the label source
	buckets []float64
}

// New returns a Collector of source. It registers and starts nothing. Its errors name
// the option, the value and what is allowed.
func New(source Source, o Options) (*Collector, error) {
	if source == nil {
		return nil, errors.New("engineprom: source is missing: want an engine")
	}
	if o.Buckets == nil {
		o.Buckets = DefaultBuckets
	}
	for i, b := range o.Buckets {
		if !(b > 0) || math.IsInf(b, 1) || i > 0 && b <= o.Buckets[i-1] {
			return nil, fmt.Errorf("engineprom: Options.Buckets[%d] %g is not allowed: want more than 0 and than the one before", i, b)
		}
	}
	c := &Collector{source: source, metrics: metrics.All(), several: len(source.Stats().Sources) > 0, buckets: slices.Clone(o.Buckets)}
	for _, m := range c.metrics {
		var names []string
		if m.Prometheus.Label != "" {
			names = []string{m.Prometheus.Label}
		}
		if c.several && m.PerSource {
			names = append(names, "source")
		}
		c.descs = append(c.descs, prometheus.NewDesc(m.Prometheus.Name, m.Prometheus.Help, names, o.Labels))
	}
	return c, nil
}

// Describe sends the descriptors of all metrics.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		ch <- d
	}
}

// Collect reads the engine's statistics once and sends every metric.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := c.source.Stats()
	if !c.several {
		s.Sources = nil // the descriptors have no label for them
	}
	for i, m := range c.metrics {
		m.Each(&s, func(v metrics.Value, source string, _ bool) {
			var labels []string
			if m.Prometheus.Label != "" {
				labels = []string{v.Label}
			}
			if c.several && m.PerSource {
				labels = append(labels, source)
			}
			switch m.Kind {
			case metrics.Histogram:
				ch <- c.histogram(c.descs[i], v.Durations, labels)
			case metrics.Counter:
				ch <- prometheus.MustNewConstMetric(c.descs[i], prometheus.CounterValue, v.Number, labels...)
			default:
				ch <- prometheus.MustNewConstMetric(c.descs[i], prometheus.GaugeValue, v.Number, labels...)
			}
		})
	}
}

func (c *Collector) histogram(d *prometheus.Desc, s latency.Snapshot, labels []string) prometheus.Metric {
	counts := make(map[float64]uint64, len(c.buckets))
	for _, b := range c.buckets {
		counts[b] = uint64(s.AtMost(time.Duration(b * float64(time.Second))))
	}
	return prometheus.MustNewConstHistogram(d, uint64(s.Count()), s.Sum().Seconds(), counts, labels...)
}
