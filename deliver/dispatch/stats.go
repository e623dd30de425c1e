package dispatch

import "github.com/streamwatch/streamwatch/latency"

// Stats are counters and histograms of a Dispatcher since New. Durations are differences of
// timestamps of the platform, the journal and the dispatcher. If clocks disagree, a negative
// duration counts as 0.
type Stats struct {
	Attempts  int64
	Delivered int64
	Retried   int64 // attempts without success that are followed by another, including granted waits
	Failed    int64 // deliveries given up
	Overflow  int64 // deliveries left to the outbox because their lane was full or waited
	Opened    int64 // times that an endpoint's breaker opened, including after a failed probe
	Replayed  int64 // deliveries made by steps of replays, or reopened
	Replays   int64 // replays under way in this process now
	Held      int64 // deliveries in memory now
	InFlight  int64 // attempts under way now
	Lanes     int64 // lanes now: of endpoints and handlers with work, in trouble, or used recently
	Open      int64 // those of Lanes whose breaker is open

	// Handover is from an event's commit to the beginning of a delivery's first attempt. It is
	// counted when the attempt has ended, and leaves out events without CommittedAt.
	Handover latency.Snapshot
	// Send is from the beginning of a successful attempt to the acknowledgement.
	Send latency.Snapshot
	// Total is from publication to the acknowledgement. It leaves out events without PublishedAt.
	Total latency.Snapshot
}
