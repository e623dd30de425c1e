package engineprom

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamwatch/streamwatch"
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
var DefaultBuckets = []float64{
	0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600,
}

// Collector is a prometheus.Collector, safe for concurrent use.
type Collector struct {
	source  Source
	metrics []metric
	ofEach  int                // the first ofEach metrics have a value for each source; 0 with one source
	descs   []*prometheus.Desc // of metrics, in their order
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
	c := &Collector{source: source, metrics: append(detectionMetrics(), deliveryMetrics()...), ofEach: len(detectionMetrics()), buckets: slices.Clone(o.Buckets)}
	if len(source.Stats().Sources) == 0 {
		c.ofEach = 0
	}
	for i, m := range c.metrics {
		var names []string
		if m.label != "" {
			names = []string{m.label}
		}
		if i < c.ofEach {
			names = append(names, "source")
		}
		c.descs = append(c.descs, prometheus.NewDesc("streamwatch_"+m.name, m.help, names, o.Labels))
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
	for i, m := range c.metrics {
		if i >= c.ofEach { // without the label source
			for _, v := range m.values(&s) {
				c.send(ch, i, v, labels(m.label, v))
			}
			continue
		}
		for n, name := range slices.Sorted(maps.Keys(s.Sources)) {
			of := s
			of.Detect = s.Sources[name]
			for _, v := range m.values(&of) {
				switch {
				case !v.once:
					c.send(ch, i, v, append(labels(m.label, v), name))
				case n == 0:
					c.send(ch, i, v, append(labels(m.label, v), ""))
				}
			}
		}
	}
}

func labels(label string, v value) []string {
	if label == "" {
		return nil
	}
	return []string{v.label}
}

// send sends a value of metric i.
func (c *Collector) send(ch chan<- prometheus.Metric, i int, v value, labels []string) {
	switch c.metrics[i].kind {
	case histogram:
		ch <- c.histogram(c.descs[i], v.durations, labels)
	case counter:
		ch <- prometheus.MustNewConstMetric(c.descs[i], prometheus.CounterValue, v.number, labels...)
	default:
		ch <- prometheus.MustNewConstMetric(c.descs[i], prometheus.GaugeValue, v.number, labels...)
	}
}

func (c *Collector) histogram(d *prometheus.Desc, s latency.Snapshot, labels []string) prometheus.Metric {
	counts := make(map[float64]uint64, len(c.buckets))
	for _, b := range c.buckets {
		counts[b] = uint64(s.AtMost(time.Duration(b * float64(time.Second))))
	}
	return prometheus.MustNewConstHistogram(d, uint64(s.Count()), s.Sum().Seconds(), counts, labels...)
}
