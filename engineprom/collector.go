package engineprom

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/latency"
)

// Source provides the statistics for a Collector. A *streamwatch.Engine is one.
type Source interface{ Stats() streamwatch.Stats }

// bounds are the upper bounds of the histograms' buckets, in seconds.
var bounds = []float64{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}

// Collector is a prometheus.Collector, safe for concurrent use.
type Collector struct {
	source  Source
	figures []figure
	descs   []*prometheus.Desc // in the order of figures
	several bool               // the engine has Config.Sources, so figures have the label source
}

// New returns a Collector that reads source. It registers and starts nothing. To add labels,
// register the Collector with prometheus.WrapRegistererWith.
func New(source Source) *Collector {
	c := &Collector{source: source, figures: all(), several: len(source.Stats().Sources) > 0}
	for _, m := range c.figures {
		var names []string
		if m.label != "" {
			names = []string{m.label}
		}
		if c.several && m.perSource {
			names = append(names, "source")
		}
		c.descs = append(c.descs, prometheus.NewDesc("streamwatch_"+m.name, m.help, names, nil))
	}
	return c
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
		s.Sources = nil // the descriptors have no label for sources
	}
	for i, m := range c.figures {
		m.each(&s, func(v value, source string) {
			var labels []string
			if m.label != "" {
				labels = []string{v.label}
			}
			if c.several && m.perSource {
				labels = append(labels, source)
			}
			if m.kind == histogram {
				ch <- newHistogram(c.descs[i], v.durations, labels)
				return
			}
			ch <- prometheus.MustNewConstMetric(c.descs[i], m.kind, v.number, labels...)
		})
	}
}

func newHistogram(d *prometheus.Desc, s latency.Snapshot, labels []string) prometheus.Metric {
	counts := make(map[float64]uint64, len(bounds))
	for _, b := range bounds {
		counts[b] = uint64(s.AtMost(time.Duration(b * float64(time.Second))))
	}
	return prometheus.MustNewConstHistogram(d, uint64(s.Count()), s.Sum().Seconds(), counts, labels...)
}
