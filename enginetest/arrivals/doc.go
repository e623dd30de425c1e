// Package arrivals has recordings of the times at which accounts posted, to replay against an engine
// or a polling policy. Read and Open read a recording, and Write writes one. Generate makes a
// recording of accounts with different rates, which depend on the hour of day and have bursts.
//
//	recording, err := arrivals.Open("arrivals.tsv.gz")
//
// enginetest.PlayArrivals plays them.
package arrivals
