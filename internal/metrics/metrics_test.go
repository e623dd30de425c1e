package metrics_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/metrics"
	"github.com/streamwatch/streamwatch/latency"
)

// values are those of the figure that Prometheus calls streamwatch_name, by label and, of a
// figure that each source has, "label@source"; of a histogram its sums, in seconds.
func values(t *testing.T, s streamwatch.Stats, name string) map[string]float64 {
	t.Helper()
	all := metrics.All()
	i := slices.IndexFunc(all, func(m metrics.Metric) bool { return m.Prometheus.Name == "streamwatch_"+name })
	if i < 0 {
		t.Fatalf("there is no %s", name)
	}
	found := map[string]float64{}
	all[i].Each(&s, func(v metrics.Value, source string, ofSource bool) {
		key := v.Label
		if ofSource {
			key += "@" + source
		}
		if _, twice := found[key]; twice {
			t.Errorf("%s has two values of %q", name, key)
		}
		found[key] = v.Number + v.Durations.Sum().Seconds()
	})
	return found
}

// notShown are fields that no figure shows as they are, and why.
var notShown = map[string]string{
	"Detect.LimitStats.Closed": "TestWorkedOut has how many",
	"Sources":                  "TestSources has them",
	"Fleet.Name":               "each process is asked by itself",
	"Fleet.Nodes":              "TestWorkedOut has how many live",
	"Fleet.Grants":             "TestWorkedOut has them",
}

// Every field of streamwatch.Stats is in a figure: each gets a value of its own.
func TestEveryFieldIsShown(t *testing.T) {
	var s streamwatch.Stats
	want := map[string]float64{}
	fill(t, reflect.ValueOf(&s).Elem(), "", want)
	var got []float64
	for _, m := range metrics.All() {
		m.Each(&s, func(v metrics.Value, _ string, _ bool) { got = append(got, v.Number, v.Durations.Sum().Seconds()) })
	}
	for _, field := range slices.Sorted(maps.Keys(want)) {
		if !slices.Contains(got, want[field]) {
			t.Errorf("Stats.%s = %g is in no figure", field, want[field])
		}
	}
	if len(want) < 40 {
		t.Errorf("only %d fields were looked for", len(want))
	}
}

// fill gives every field of v a number of its own, and notes it in want.
func fill(t *testing.T, v reflect.Value, path string, want map[string]float64) {
	for i := range v.NumField() {
		name := strings.TrimPrefix(path+"."+v.Type().Field(i).Name, ".")
		if notShown[name] != "" {
			continue
		}
		n := 1001 + len(want)
		want[name] = float64(n)
		switch f := v.Field(i); x := f.Addr().Interface().(type) {
		case *int64:
			*x = int64(n)
		case *float64:
			*x = float64(n)
		case *billing.Credits:
			*x = billing.Credits(n) * billing.Credit
		case *bool:
			*x, want[name] = true, 1
		case *time.Duration:
			*x = time.Duration(n) * time.Second
		case *latency.Snapshot:
			var h latency.Histogram
			h.Record(time.Duration(n) * time.Second)
			*x = h.Snapshot()
		default:
			delete(want, name)
			if f.Kind() != reflect.Struct {
				t.Fatalf("Stats.%s is a %s, which fill does not know", name, f.Type())
			}
			fill(t, f, name, want)
		}
	}
}

// What is no field as it is.
func TestWorkedOut(t *testing.T) {
	var s streamwatch.Stats
	s.Detect.Closed = map[string]time.Time{"": {}, "search": {}}
	s.Fleet.Nodes = []streamwatch.FleetNode{{Name: "a", Living: true}, {Name: "b", Living: true}, {Name: "c"}}
	s.Fleet.Grants = map[string]float64{"": 2.5, "bluesky": 4}
	for name, want := range map[string]map[string]float64{
		"limits_closed":                  {"": 2},
		"fleet_nodes":                    {"": 2},
		"fleet_granted_calls_per_second": {"": 2.5, "bluesky": 4},
	} {
		if got := values(t, s, name); !maps.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
}

// With several sources, each has values of its own. What is counted for all of them
// together has one.
func TestSources(t *testing.T) {
	s := streamwatch.Stats{Sources: map[string]detect.Stats{"": {Polls: 11}, "bluesky": {Polls: 22}}}
	s.Detect = s.Sources[""]
	s.Deliver.Attempts = 33
	for name, want := range map[string]map[string]float64{
		"polls_total":    {"@": 11, "@bluesky": 22},
		"attempts_total": {"": 33},
	} {
		if got := values(t, s, name); !maps.Equal(got, want) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	stages := values(t, s, "latency_seconds")
	for _, stage := range []string{"fetch@", "fetch@bluesky", "handover", "send"} {
		if _, ok := stages[stage]; !ok || len(stages) != 2*7+2 {
			t.Errorf("the stages are %v, want 7 of each source and 2 of both", stages)
		}
	}
}

// A help that names another figure has the name that the reader knows.
func TestHelpNamesFigures(t *testing.T) {
	for _, m := range metrics.All() {
		if m.Prometheus.Name == "streamwatch_budget_feasible" {
			if m.Prometheus.Help != "1 while the budget covers budget_demand_polls_per_second." || m.OpenTelemetry.Help != "1 while the budget covers budget.demand." {
				t.Errorf("the helps are %q and %q", m.Prometheus.Help, m.OpenTelemetry.Help)
			}
		}
	}
}
