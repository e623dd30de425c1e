package enginetest_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/enginetest"
)

// How late does a poll interval of two minutes find posts, with 5 calls a
// second allowed? Half an hour is played in half a second; in a testing/synctest
// bubble, without a Speed, a month takes about as long.
func ExampleMeasureLatency() {
	arrivals := enginetest.GenerateArrivals(enginetest.ArrivalsConfig{
		Accounts: 20, Duration: 30 * time.Minute, PerDay: 500, Sigma: 1.5,
	})
	report, err := enginetest.MeasureLatency(context.Background(), enginetest.LatencyConfig{
		Arrivals: arrivals,
		Speed:    3600,
		Interval: 2 * time.Minute,
		Warmup:   5 * time.Minute,
		Engine:   func(c *streamwatch.Config) { c.Detect.FetchRate = 5 * 3600 },
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

// A recording is kept in a file, to compare policies on the same arrivals.
func ExampleWriteArrivals() {
	arrivals := &enginetest.Arrivals{
		Name: "lift-off", Start: time.Unix(1772366400, 0), Length: time.Hour,
		Posts: [][]time.Duration{{90 * time.Second}, {time.Minute, 2500 * time.Millisecond * 60}},
	}
	var file strings.Builder
	if err := enginetest.WriteArrivals(&file, arrivals); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(file.String())
	back, err := enginetest.ReadArrivals(strings.NewReader(file.String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(back.Posts)
	// Output:
	// # arrivals v1 name=lift-off accounts=2 events=3 start=1772366400 end=1772370000
	// 1	1772366460
	// 0	1772366490
	// 1	1772366550
	// [[1m30s] [1m0s 2m30s]]
}
