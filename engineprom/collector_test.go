package engineprom_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	"github.com/streamwatch/streamwatch/latency"
)

// fixed is an engine whose statistics do not change.
type fixed struct{ s streamwatch.Stats }

func (f fixed) Stats() streamwatch.Stats { return f.s }

// With several sources, each has series of its own. What is counted for all of them
// together has one series.
func TestSources(t *testing.T) {
	s := streamwatch.Stats{Sources: map[string]detect.Stats{"": {Polls: 11}, "bluesky": {Polls: 22}}}
	s.Detect = s.Sources[""]
	s.Deliver.Attempts = 33
	s.Fleet.Grants = map[string]float64{"bluesky": 4}
	got := scrape(t, fixed{s})
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
	for _, d := range []time.Duration{500 * time.Microsecond, 30 * time.Millisecond, 30 * time.Millisecond, 4 * time.Second, time.Hour} {
		h.Record(d)
	}
	s := streamwatch.Stats{}
	s.Deliver.Total = h.Snapshot()
	got := scrape(t, fixed{s})
	for _, line := range []string{
		`_bucket{le="0.001"} 1`, `_bucket{le="0.05"} 3`, `_bucket{le="5"} 4`, `_bucket{le="+Inf"} 5`, `_sum 3604.0605`, `_count 5`,
	} {
		if line = "streamwatch_delivery_seconds" + line; !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}

// The names follow the conventions of Prometheus, and none is there twice.
func TestNames(t *testing.T) {
	problems, err := testutil.CollectAndLint(engineprom.New(fixed{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
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
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9_]+)[{ ]`).FindAllStringSubmatch(scrape(t, fixed{}), -1) {
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
func scrape(t *testing.T, source engineprom.Source) string {
	t.Helper()
	reg := prometheus.NewPedanticRegistry()
	if err := reg.Register(engineprom.New(source)); err != nil {
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
