package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

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

// timing is the live form of the histograms in Stats.
type timing struct{ handover, send, total latency.Histogram }

// record counts an attempt that has ended. The age of an event that a replay sends says
// nothing about the dispatcher.
func (t *timing) record(it *item, a *deliver.Attempt, ok bool) {
	ev := it.Event
	if it.replayed {
		if ok {
			t.send.Record(a.Duration)
		}
		return
	}
	if a.N == 1 {
		recordSince(&t.handover, ev.CommittedAt, a.At)
	}
	if ok {
		t.send.Record(a.Duration)
		recordSince(&t.total, ev.PublishedAt, a.At.Add(a.Duration))
	}
}

// recordSince records a duration, unless begin is zero: it would count as the longest
// duration of all.
func recordSince(h *latency.Histogram, begin, end time.Time) {
	if !begin.IsZero() {
		h.Record(end.Sub(begin))
	}
}
