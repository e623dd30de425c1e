package timing

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

// Timing has the histograms in dispatch.Stats.
type Timing struct{ Handover, Send, Total latency.Histogram }

// Record counts an attempt that has ended. The age of an event that a replay sends says
// nothing about the dispatcher.
func (t *Timing) Record(ev *deliver.Event, replayed bool, a *deliver.Attempt, ok bool) {
	if replayed {
		if ok {
			t.Send.Record(a.Duration)
		}
		return
	}
	if a.N == 1 {
		recordSince(&t.Handover, ev.CommittedAt, a.At)
	}
	if ok {
		t.Send.Record(a.Duration)
		recordSince(&t.Total, ev.PublishedAt, a.At.Add(a.Duration))
	}
}

// recordSince records a duration, unless begin is zero: it would count as the longest
// duration of all.
func recordSince(h *latency.Histogram, begin, end time.Time) {
	if !begin.IsZero() {
		h.Record(end.Sub(begin))
	}
}
