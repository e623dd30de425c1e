package engineotel_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	metricspb "go.opentelemetry.io/proto/otlp/metrics/v1"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/engineotel"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/internal/metrics"
	"github.com/streamwatch/streamwatch/latency"
)

// fixed is an engine whose statistics do not change.
type fixed struct{ s streamwatch.Stats }

func (f fixed) Stats() streamwatch.Stats { return f.s }

// collect returns what a reader gets of an engine's statistics.
func collect(t *testing.T, engine engineotel.Source) map[string]metricdata.Metrics {
	t.Helper()
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(engineotel.Histograms(engine)))
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	if _, err := engineotel.Metrics(engine, mp); err != nil {
		t.Fatal(err)
	}
	var rm metricdata.ResourceMetrics
	if err := reader.Collect(t.Context(), &rm); err != nil {
		t.Fatal(err)
	}
	found := map[string]metricdata.Metrics{}
	for _, sm := range rm.ScopeMetrics {
		for _, m := range sm.Metrics {
			if _, twice := found[m.Name]; twice {
				t.Errorf("%s is there twice", m.Name)
			}
			found[m.Name] = m
		}
	}
	return found
}

// numbers are the values of a metric; of a histogram its sums.
func numbers(t *testing.T, m metricdata.Metrics) map[string]float64 {
	values := map[string]float64{}
	switch d := m.Data.(type) {
	case metricdata.Sum[float64]:
		for _, p := range d.DataPoints {
			values[p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
		}
	case metricdata.Gauge[float64]:
		for _, p := range d.DataPoints {
			values[p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Value
		}
	case metricdata.Histogram[float64]:
		for _, p := range d.DataPoints {
			values[p.Attributes.Encoded(attribute.DefaultEncoder())] = p.Sum
		}
	default:
		t.Fatalf("%s is a %T", m.Name, d)
	}
	return values
}

// Every figure is collected.
func TestEveryFigureIsExported(t *testing.T) {
	var s streamwatch.Stats
	s.Fleet.Grants = map[string]float64{"": 1}
	found := collect(t, fixed{s})
	for _, m := range metrics.All() {
		if found[m.OpenTelemetry.Name].Description != m.OpenTelemetry.Help {
			t.Errorf("%s is not collected, or says something else", m.OpenTelemetry.Name)
		}
	}
}

// Names and units follow the conventions for metrics: lower case, parts with dots between,
// no unit and no "total" in the name; a unit is of UCUM, what is counted in braces. No name
// is the beginning of another's parts and a metric of the same unit twice.
func TestNamesAndUnits(t *testing.T) {
	name := regexp.MustCompile(`^streamwatch(\.[a-z][a-z0-9]*(_[a-z0-9]+)*)+$`)
	unit := regexp.MustCompile(`^(s|1|\{[a-z]+\}|\{[a-z]+\}/s)$`)
	found := collect(t, fixed{})
	for _, m := range found {
		if !name.MatchString(m.Name) || strings.HasSuffix(m.Name, "total") || strings.HasSuffix(m.Name, "seconds") {
			t.Errorf("%s is no name by the conventions", m.Name)
		}
		if !unit.MatchString(m.Unit) || m.Description == "" {
			t.Errorf("%s has the unit %q and the description %q", m.Name, m.Unit, m.Description)
		}
		if _, isHistogram := m.Data.(metricdata.Histogram[float64]); isHistogram && m.Unit != "s" {
			t.Errorf("%s is a histogram of %s, want s", m.Name, m.Unit)
		}
	}
	if len(found) < 90 {
		t.Errorf("%d metrics only", len(found))
	}
}

// With several sources, each has series of its own. What is counted for all of them
// together has one.
func TestSources(t *testing.T) {
	s := streamwatch.Stats{Sources: map[string]detect.Stats{"": {Polls: 11}, "bluesky": {Polls: 22}},
		Fleet: streamwatch.FleetStats{Grants: map[string]float64{"bluesky": 4}}}
	s.Detect = s.Sources[""]
	s.Deliver.Attempts = 33
	found := collect(t, fixed{s})
	for metric, want := range map[string]map[string]float64{
		"streamwatch.polls":              {"streamwatch.platform=": 11, "streamwatch.platform=bluesky": 22},
		"streamwatch.attempts":           {"": 33},
		"streamwatch.fleet.call.granted": {"streamwatch.platform=bluesky": 4},
	} {
		if got := numbers(t, found[metric]); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is %v, want %v", metric, got, want)
		}
	}
	stages := numbers(t, found["streamwatch.post.stage.duration"])
	if _, ok := stages["streamwatch.stage=send"]; !ok || len(stages) != 2*7+2 {
		t.Errorf("the stages are %v, want 7 of each source and 2 of both", stages)
	}
}

func TestHistogram(t *testing.T) {
	var h latency.Histogram
	for _, d := range []time.Duration{500 * time.Microsecond, 30 * time.Millisecond, 30 * time.Millisecond, 2 * time.Hour} {
		h.Record(d)
	}
	s := streamwatch.Stats{}
	s.Deliver.Total = h.Snapshot()
	p := collect(t, fixed{s})["streamwatch.delivery.duration"].Data.(metricdata.Histogram[float64]).DataPoints[0]
	if n := len(p.Bounds); p.Count != 4 || p.BucketCounts[0] != 1 || p.BucketCounts[5] != 2 || p.BucketCounts[n] != 1 || len(p.BucketCounts) != n+1 || p.Sum != 7200.0605 {
		t.Errorf("%+v, want 1 up to 1 ms, 2 up to 50 ms, 1 beyond an hour", p)
	}
}

func TestMetricsAreChecked(t *testing.T) {
	if _, err := engineotel.Metrics(nil, nil); err == nil {
		t.Error("no error without an engine and a MeterProvider")
	}
}

// What an engine counts, and how long its requests took, arrives at a collector.
func TestMetricsAreAccepted(t *testing.T) {
	c := newCollector(t)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("traceparent") == "" {
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	defer hook.Close()
	exporter, err := otlpmetrichttp.New(t.Context(), otlpmetrichttp.WithEndpointURL(c.server.URL+"/v1/metrics"))
	if err != nil {
		t.Fatal(err)
	}
	late := &lateSource{}
	mp := sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter, sdkmetric.WithProducer(engineotel.Histograms(late)))))
	platform := enginetest.NewPlatform(enginetest.PlatformConfig{Accounts: []string{watched}})
	p := start(t, c, filepath.Join(t.TempDir(), "streams.db"), streamwatch.Config{Fetcher: platform}, engineotel.Options{MeterProvider: mp})
	late.Engine = p.Engine
	registration, err := engineotel.Metrics(p.Engine, mp)
	if err != nil {
		t.Fatal(err)
	}
	p.watch(hook.URL + "/s3cr3t")
	platform.Post(watched, "hello")
	for p.Stats().Deliver.Delivered == 0 && t.Context().Err() == nil {
		<-time.After(time.Millisecond)
	}
	if err := p.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := mp.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	if err := registration.Unregister(); err != nil {
		t.Error(err)
	}
	p.close()

	found := map[string]*metricspb.Metric{}
	for _, m := range c.metrics {
		found[m.Name] = m
	}
	if m := found["streamwatch.events"]; m == nil || m.Unit != "{event}" || !m.GetSum().IsMonotonic || m.GetSum().DataPoints[0].GetAsDouble() != 1 {
		t.Errorf("streamwatch.events is %v, want a sum of 1", m)
	}
	if m := found["streamwatch.delivery.duration"]; m == nil || m.Unit != "s" || m.GetHistogram().DataPoints[0].Count != 1 {
		t.Errorf("streamwatch.delivery.duration is %v, want a histogram of 1", m)
	}
	m := found["http.client.request.duration"]
	if m == nil || m.Unit != "s" || m.GetHistogram().DataPoints[0].Count != 1 {
		t.Fatalf("http.client.request.duration is %v, want a histogram of 1", m)
	}
	at := attributes(m.GetHistogram().DataPoints[0].Attributes)
	if at["http.request.method"] != "POST" || at["http.response.status_code"] != int64(200) || at["server.address"] != "127.0.0.1" || at["error.type"] != nil {
		t.Errorf("its attributes are %v", at)
	}
	if strings.Contains(c.all(), "s3cr3t") {
		t.Error("the metrics show the URL's path")
	}
}

// lateSource is an engine that is made after the reader of its metrics.
type lateSource struct{ *streamwatch.Engine }

func (l *lateSource) Stats() streamwatch.Stats {
	if l.Engine == nil {
		return streamwatch.Stats{}
	}
	return l.Engine.Stats()
}
