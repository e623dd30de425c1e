package poll

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

// Stages are where the time from publication to commit went: see
// latency.Parts. They are safe for concurrent use.
type Stages struct {
	Schedule, Visibility, Failure, Queue, Fetch, Process, Commit, Total, Detection latency.Histogram
}

// record records the parts of an event's latency. Where clocks disagree a part is 0.
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

// NoteLatency records the latency of a post for which an event was committed, and has the
// overlap learn from it. It may be called by another goroutine than the shard's while the
// poll is being committed.
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
	// The journal did not know the post, so it was not seen and forgotten. If it is
	// older than the last complete poll, that poll did not show it.
	needed := max(0, p.Plan.Since.Sub(ev.PublishedAt))
	if needed > 0 {
		m.env.Count.Late.Add(1)
	}
	if late && m.env.Late.Observe(committed, needed) {
		m.env.On.Later()
	}
}

// Parts reads the histograms.
func (s *Stages) Parts() latency.Parts {
	return latency.Parts{Schedule: s.Schedule.Snapshot(), Visibility: s.Visibility.Snapshot(), Failure: s.Failure.Snapshot(),
		Queue: s.Queue.Snapshot(), Fetch: s.Fetch.Snapshot(), Process: s.Process.Snapshot(), Commit: s.Commit.Snapshot(),
		Total: s.Total.Snapshot(), Detection: s.Detection.Snapshot()}
}
