package replay_test

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
	"github.com/streamwatch/streamwatch/enginetest/replay"
)

// How late does a poll interval of two minutes find posts, with 5 calls a
// second allowed? Half an hour is played in half a second; in a testing/synctest
// bubble, without a Speed, a month takes about as long.
func ExampleMeasureLatency() {
	recording := arrivals.Generate(arrivals.Config{
		Accounts: 20, Duration: 30 * time.Minute, PerDay: 500, Sigma: 1.5,
	})
	report, err := replay.MeasureLatency(context.Background(), replay.LatencyConfig{
		Arrivals: recording,
		Speed:    3600,
		Interval: 2 * time.Minute,
		Warmup:   5 * time.Minute,
		Engine:   func(c *streamwatch.Config) { c.Detect.FetchRate = 5 },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Missed, "missed,", report.Doubled, "doubled")
	// report.Latency.Quantile(0.9) is any other quantile, report.Causes what the latency
	// is made of, and fmt.Println(report) prints all figures. A machine that is busy with
	// other things adds to them, 3,600 times what it takes itself:
	//
	//	generated-0: 20 accounts, 25m0s scored
	//	   posts  detected  waiting   missed  doubled          calls        calls/s  longest gap
	//	     293       278       15        0        0            299         0.1993      137.5 s
	//	    mean       p50      p95      p99      max  over accounts  worst account
	//	 64.21 s   65.45 s  116.7 s  121.3 s  125.3 s        65.16 s        70.54 s
	//	of which schedule 61.65 s (92.6 %), …, queue 1.962 s (2.9 %), fetch 0.2775 s (0.4 %), …

	// Output:
	// 0 missed, 0 doubled
}
