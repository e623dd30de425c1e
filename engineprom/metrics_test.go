package engineprom_test

import (
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/latency"
)

// notShown are fields that no figure shows as they are, and why.
var notShown = map[string]string{
	"Detect.LastError":         "a text",
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
	for _, m := range regexp.MustCompile(`(?m)^streamwatch_\S+ (\S+)$`).FindAllStringSubmatch(scrape(t, fixed{s}), -1) {
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, n)
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
	got := scrape(t, fixed{s})
	for _, line := range []string{
		"streamwatch_limits_closed 2", "streamwatch_fleet_nodes 2",
		`streamwatch_fleet_granted_calls_per_second{of=""} 2.5`, `streamwatch_fleet_granted_calls_per_second{of="bluesky"} 4`,
	} {
		if !strings.Contains(got, line+"\n") {
			t.Errorf("no line %s", line)
		}
	}
}
