package latency_test

import (
	"fmt"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

// What happened in the last minute is the difference of two snapshots.
func Example() {
	var h latency.Histogram
	h.Record(3 * time.Second)
	minuteAgo := h.Snapshot()
	for i := range 100 {
		h.Record(time.Duration(i+1) * time.Millisecond)
	}

	fmt.Println("ever:       ", h.Snapshot())
	fmt.Println("this minute:", h.Snapshot().Sub(minuteAgo))
	// Output:
	// ever:        count 101, mean 79.7ms, p50 52.4ms, p95 96.5ms, p99 101ms, max 3s
	// this minute: count 100, mean 50.5ms, p50 50.3ms, p95 96.5ms, p99 101ms, max 101ms
}
