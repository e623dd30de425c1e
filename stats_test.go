package streamwatch_test

import (
	"testing"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// The deliveries are those of all sources, and so are the causes before them: of accounts
// and of queries.
func TestCausesOfAllSources(t *testing.T) {
	of := func(d time.Duration) latency.Snapshot {
		var h latency.Histogram
		h.Record(d)
		return h.Snapshot()
	}
	fetched := func(d time.Duration) latency.Parts { return latency.Parts{Fetch: of(d)} }
	delivered := dispatch.Stats{Handover: of(time.Second), Send: of(time.Second)}
	for _, row := range []struct {
		name  string
		stats streamwatch.Stats
	}{
		{"accounts", streamwatch.Stats{Detect: detect.Stats{Latency: fetched(2 * time.Second)}}},
		{"queries", streamwatch.Stats{Detect: detect.Stats{Queries: detect.QueryStats{Latency: fetched(2 * time.Second)}}}},
		{"both", streamwatch.Stats{Detect: detect.Stats{Latency: fetched(time.Second), Queries: detect.QueryStats{Latency: fetched(3 * time.Second)}}}},
		{"two sources", streamwatch.Stats{Detect: detect.Stats{Latency: fetched(time.Second)}, Sources: map[string]detect.Stats{
			"": {Latency: fetched(time.Second)}, "bluesky": {Latency: fetched(3 * time.Second)}}}},
	} {
		row.stats.Deliver = delivered
		for _, c := range row.stats.Causes() {
			if c.Name == "fetch" && (c.Mean != 2*time.Second || c.Share != 0.5) {
				t.Errorf("%s: the calls took %s, %g of the time, want 2s, half of it", row.name, c.Mean, c.Share)
			}
		}
	}
}
