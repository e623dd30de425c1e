package poll

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

// Stages are histograms of the parts of the time from publication to commit: see
// latency.Parts. They are safe for concurrent use.
type Stages struct {
	Schedule, Visibility, Failure, Queue, Fetch, Process, Commit, Total, Detection latency.Histogram
}

// record records the parts of an event's latency. Clocks may differ: a part below 0 counts as 0.
func (s *Stages) record(ev *deliver.Event, due time.Time, failed bool, committed time.Time) {
	at := ev.PublishedAt
	part := func(h *latency.Histogram, end time.Time) {
		h.Record(end.Sub(at))
		if end.After(at) {
			at = end
		}
	}
	if due.After(ev.RequestedAt) {
		due = ev.RequestedAt
	}
	part(&s.Schedule, ev.EarliestAt)
	if failed {
		s.Visibility.Record(0)
		part(&s.Failure, due)
	} else {
		part(&s.Visibility, due)
		s.Failure.Record(0)
	}
	part(&s.Queue, ev.RequestedAt)
	part(&s.Fetch, ev.FetchedAt)
	part(&s.Process, ev.DetectedAt)
	part(&s.Commit, committed)
	s.Total.Record(committed.Sub(ev.PublishedAt))
	s.Detection.Record(ev.DetectedAt.Sub(ev.PublishedAt))
}

// NoteLatency records the latency of a post with a committed event, and updates the overlap from
// it. While the poll is being committed, a goroutine other than the shard's may call it.
func (p *Poll) NoteLatency(ev *deliver.Event, committed time.Time) {
	if p.Plan.Gap != nil {
		return
	}
	m := p.Machine
	m.count.Stages.record(ev, p.At, p.Plan.Failed, committed)
	late := m.traits.ShowsLateness
	if late && (p.Plan.First || p.Plan.Timeline.Seen == nil) {
		return
	}
	// The journal did not know the post, so no earlier poll found it. If the post is older than the
	// last complete poll, that poll did not show it.
	needed := max(0, p.Plan.Since.Sub(ev.PublishedAt))
	if needed > 0 {
		m.env.Count.Late.Add(1)
	}
	if late {
		m.env.Late.Observe(committed, needed)
	}
}

// Parts returns snapshots of the histograms.
func (s *Stages) Parts() latency.Parts {
	return latency.Parts{Schedule: s.Schedule.Snapshot(), Visibility: s.Visibility.Snapshot(), Failure: s.Failure.Snapshot(),
		Queue: s.Queue.Snapshot(), Fetch: s.Fetch.Snapshot(), Process: s.Process.Snapshot(), Commit: s.Commit.Snapshot(),
		Total: s.Total.Snapshot(), Detection: s.Detection.Snapshot()}
}
