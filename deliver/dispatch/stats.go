package dispatch

import "github.com/streamwatch/streamwatch/latency"

// Stats are counters and histograms of a Dispatcher since it was made. Durations are
// between timestamps of the platform, the journal and the dispatcher; a negative one,
// where clocks disagree, counts as 0.
type Stats struct {
	Attempts  int64
	Delivered int64
	Retried   int64 // attempts without success after which another follows, waits included
	Failed    int64 // deliveries given up
	Overflow  int64 // deliveries left to the outbox because their lane was full or waited
	Opened    int64 // times that an endpoint's breaker opened, probes that failed included
	Replayed  int64 // deliveries made by steps of replays, or reopened
	Replays   int64 // replays under way in this process now
	Held      int64 // deliveries in memory now
	InFlight  int64 // attempts under way now
	Lanes     int64 // endpoints and handlers remembered now: with work, in trouble, or used lately
	Open      int64 // those of Lanes whose breaker is open

	// Handover is from an event's commit to the beginning of a delivery's first
	// attempt, counted when the attempt has ended. Events without CommittedAt are
	// left out.
	Handover latency.Snapshot
	// Send is from the beginning of a successful attempt to the acknowledgement.
	Send latency.Snapshot
	// Total is from publication to the acknowledgement. Events without
	// PublishedAt are left out.
	Total latency.Snapshot
}
