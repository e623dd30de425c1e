// Package replay plays a recording of when accounts posted, and measures how late
// an engine finds the posts.
//
// MeasureLatency plays it to an engine with the caller's poll interval, store, rate
// or policy. It reports how late the posts came, what that time was spent on, how
// many calls were made, and what was missed or came twice. All its times are in
// recorded time, those that Engine sets included:
//
//	recording, err := arrivals.Open("arrivals.tsv.gz")
//	…
//	report, err := replay.MeasureLatency(ctx, replay.LatencyConfig{
//		Arrivals: recording,
//		Interval: 5 * time.Minute,
//		Engine:   func(c *streamwatch.Config) { c.Detect.FetchRate = 5 },
//	})
//	fmt.Println(report)
//
// In a testing/synctest bubble a day passes in seconds; LatencyConfig.Speed shortens
// it elsewhere. A Replay is the platform in it, for an engine that is put together
// by hand, or, as a Batch, for a client that reads many accounts in a call. Its
// Prober tells which accounts have changed, as far as an enginetest.ProbeConfig lets
// it.
//
// Package enginetest/arrivals has the file's format, and makes recordings of
// accounts whose rates differ, move with the hour of day, and burst.
package replay
