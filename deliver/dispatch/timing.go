package dispatch

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

// timing has the histograms in dispatch.Stats.
type timing struct{ handover, send, total latency.Histogram }

// record counts an attempt that has ended. For a replayed delivery it records only Send: the age of
// its event says nothing about the dispatcher.
func (t *timing) record(ev *deliver.Event, replayed bool, a *deliver.Attempt, ok bool) {
	if replayed {
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

// recordSince records the duration from begin to end, unless begin is zero. A zero begin would give
// a false, very long duration.
func recordSince(h *latency.Histogram, begin, end time.Time) {
	if !begin.IsZero() {
		h.Record(end.Sub(begin))
	}
}
