package enginetest_test

import (
	"context"
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
	"github.com/streamwatch/streamwatch/enginetest/arrivals"
)

// How late does a poll interval of two minutes find posts, with 5 calls a
// second allowed? Half an hour is played in half a second; in a testing/synctest
// bubble, without a Speed, a month takes about as long.
func ExampleMeasureLatency() {
	recording := arrivals.Generate(arrivals.Config{
		Accounts: 20, Duration: 30 * time.Minute, PerDay: 500, Sigma: 1.5,
	})
	report, err := enginetest.MeasureLatency(context.Background(), enginetest.LatencyConfig{
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
	// fmt.Println(report) prints all figures:
	//
	//	generated-0: 20 accounts, 25m0s scored
	//	   posts  detected  waiting   missed  doubled          calls        calls/s  longest gap
	//	     293       276       17        0        0            270           0.18      149.7 s
	//	    mean       p50      p95      p99      max  over accounts  worst account
	//	  62.1 s   63.63 s  113.4 s  120.1 s  122.9 s        65.74 s        68.11 s

	// Output:
	// 0 missed, 0 doubled
}
