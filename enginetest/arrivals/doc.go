// Package arrivals has recordings of when accounts posted, to replay against an
// engine or a polling policy: Read and Open take a file, Generate makes one of
// accounts whose rates differ, move with the hour of day, and burst, and Write
// writes one.
//
//	recording, err := arrivals.Open("arrivals.tsv.gz")
//
// enginetest.PlayArrivals plays them.
package arrivals
