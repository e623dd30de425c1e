package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

// Stats tells what a Dispatcher did since it was made. Durations run from stamps
// of the platform, the journal and the dispatcher; where clocks disagree they
// count as 0.
type Stats struct {
	Attempts  int64
	Delivered int64
	Retried   int64 // attempts without success that have another to come, waits included
	Failed    int64 // deliveries given up
	Overflow  int64 // deliveries that found their lane full or waiting, and wait in the outbox
	Opened    int64 // times that an endpoint's breaker opened, probes that failed included
	Replayed  int64 // deliveries made by steps of replays, or reopened
	Replays   int64 // replays under way in this process now
	Held      int64 // deliveries in memory now
	InFlight  int64 // attempts under way now
	Lanes     int64 // endpoints and handlers remembered now: with work, in trouble, or used lately
	Open      int64 // of them, those whose breaker is open

	// Handover is from an event's commit to the begin of a delivery's first
	// attempt, counted when that has ended. Events without CommittedAt are
	// left out.
	Handover latency.Snapshot
	// Send is from the begin of a successful attempt to the acknowledgement.
	Send latency.Snapshot
	// Total is from publication to the acknowledgement. Events without
	// PublishedAt are left out.
	Total latency.Snapshot
}

// timing is the live form of the histograms in Stats.
type timing struct{ handover, send, total latency.Histogram }

// record counts an attempt that has ended. How long ago an event was that a
// replay sends says nothing about the deliverer.
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

// recordSince leaves out what has no begin: a zero time would count as the
// longest duration of all.
func recordSince(h *latency.Histogram, begin, end time.Time) {
	if !begin.IsZero() {
		h.Record(end.Sub(begin))
	}
}
