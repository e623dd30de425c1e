package engineprom_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/engineprom"
	"github.com/streamwatch/streamwatch/internal/metrics"
	"github.com/streamwatch/streamwatch/latency"
)

// fixed is an engine whose statistics do not change.
type fixed struct{ s streamwatch.Stats }

func (f fixed) Stats() streamwatch.Stats { return f.s }

// Every figure is scraped.
func TestEveryFigureIsExported(t *testing.T) {
	var s streamwatch.Stats
	s.Fleet.Grants = map[string]float64{"": 1}
	got := scrape(t, fixed{s}, engineprom.Options{})
	for _, m := range metrics.All() {
		if want := "# HELP " + m.Prometheus.Name + " " + m.Prometheus.Help; !strings.Contains(got, want+"\n") {
			t.Errorf("no line %s", want)
		}
	}
}

// With several sources, each has series of its own. What is counted for all of them
// together has one series.
func TestSources(t *testing.T) {
	s := streamwatch.Stats{Sources: map[string]detect.Stats{"": {Polls: 11}, "bluesky": {Polls: 22}}}
	s.Detect = s.Sources[""]
	s.Deliver.Attempts = 33
	s.Fleet.Grants = map[string]float64{"bluesky": 4}
	got := scrape(t, fixed{s}, engineprom.Options{})
	for _, line := range []string{
		`streamwatch_polls_total{source=""} 11`, `streamwatch_polls_total{source="bluesky"} 22`, `streamwatch_attempts_total 33`,
		`streamwatch_fleet_granted_calls_per_second{of="bluesky"} 4`,
		`streamwatch_latency_seconds_count{source="bluesky",stage="fetch"} 0`, `streamwatch_latency_seconds_count{source="",stage="send"} 0`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
	if strings.Contains(got, `source="bluesky",stage="send"`) {
		t.Error("what is counted for all sources together is shown for one")
	}
}

func TestHistogram(t *testing.T) {
	var h latency.Histogram
	for _, d := range []time.Duration{time.Millisecond, 30 * time.Millisecond, 30 * time.Millisecond, 4 * time.Second, time.Hour} {
		h.Record(d)
	}
	s := streamwatch.Stats{}
	s.Deliver.Total = h.Snapshot()
	c, err := engineprom.New(fixed{s}, engineprom.Options{Labels: prometheus.Labels{"node": "a"}, Buckets: []float64{0.0005, 0.05, 5}})
	if err != nil {
		t.Fatal(err)
	}
	if err := testutil.CollectAndCompare(c, strings.NewReader(`
# HELP streamwatch_delivery_seconds From publication to the receiver's acknowledgement.
# TYPE streamwatch_delivery_seconds histogram
streamwatch_delivery_seconds_bucket{node="a",le="0.0005"} 0
streamwatch_delivery_seconds_bucket{node="a",le="0.05"} 3
streamwatch_delivery_seconds_bucket{node="a",le="5"} 4
streamwatch_delivery_seconds_bucket{node="a",le="+Inf"} 5
streamwatch_delivery_seconds_sum{node="a"} 3604.061
streamwatch_delivery_seconds_count{node="a"} 5
`), "streamwatch_delivery_seconds"); err != nil {
		t.Error(err)
	}
}

// The names follow the conventions of Prometheus, and none is there twice.
func TestNames(t *testing.T) {
	c, err := engineprom.New(fixed{}, engineprom.Options{})
	if err != nil {
		t.Fatal(err)
	}
	problems, err := testutil.CollectAndLint(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, row := range []struct {
		name    string
		source  engineprom.Source
		buckets []float64
		want    string
	}{
		{"no source", nil, nil, "source is missing"},
		{"a bound of 0", fixed{}, []float64{0, 1}, "Buckets[0] 0 is not allowed"},
		{"a bound that is no number", fixed{}, []float64{1, math.NaN()}, "Buckets[1] NaN is not allowed"},
		{"a bound without an end", fixed{}, []float64{1, math.Inf(1)}, "Buckets[1] +Inf is not allowed"},
		{"falling bounds", fixed{}, []float64{1, 2, 2}, "Buckets[2] 2 is not allowed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, err := engineprom.New(row.source, engineprom.Options{Buckets: row.buckets}); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("error %v, want one with %q", err, row.want)
			}
		})
	}
}

// The dashboard asks only for metrics that exist.
func TestDashboard(t *testing.T) {
	text, err := os.ReadFile("dashboard.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Title  string
		Panels []struct {
			Title   string
			Type    string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9_]+)[{ ]`).FindAllStringSubmatch(scrape(t, fixed{}, engineprom.Options{}), -1) {
		names = append(names, m[1])
	}
	asked := 0
	for _, p := range dashboard.Panels {
		if p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %q asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			for _, name := range regexp.MustCompile(`streamwatch_[a-z0-9_]+`).FindAllString(target.Expr, -1) {
				asked++
				if !slices.Contains(names, name) {
					t.Errorf("panel %q asks for %s, which does not exist", p.Title, name)
				}
			}
		}
	}
	if asked < 20 {
		t.Errorf("the dashboard asks for %d metrics only", asked)
	}
}

// scrape returns what Prometheus reads, from a registry that checks every metric
// against its description.
func scrape(t *testing.T, source engineprom.Source, o engineprom.Options) string {
	t.Helper()
	c, err := engineprom.New(source, o)
	if err != nil {
		t.Fatal(err)
	}
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(c); err != nil {
		t.Fatal(err)
	}
	rec := httptest.NewRecorder()
	promhttp.HandlerFor(reg, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError}).ServeHTTP(rec, httptest.NewRequest("GET", "/metrics", nil))
	body, err := io.ReadAll(rec.Result().Body)
	if rec.Code != 200 {
		err = errors.Join(err, fmt.Errorf("status %d: %s", rec.Code, body))
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
