package detect

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

// Latency tells where the time from publication to commit went: each part is a
// histogram over the posts for which an event was committed, and the parts of
// one post add up to its Total. Posts from gaps are not among them: they say
// nothing of the polls.
type Latency struct {
	// Schedule is from publication to the first poll due after it.
	Schedule latency.Snapshot
	// Visibility is from there to the poll that found the post, where polls
	// between did not show it: the upstream was late.
	Visibility latency.Snapshot
	// Failure is the same time where polls or commits between had failed.
	Failure latency.Snapshot
	// Queue is from when the poll was due until its call began: waiting for the
	// budget, a rate limit, a slot, and for the pages before.
	Queue latency.Snapshot
	// Fetch is the call that brought the post.
	Fetch latency.Snapshot
	// Process is from the answer until the post was known to be new: reading
	// the pages behind it, and waiting for the shard's goroutine.
	Process latency.Snapshot
	// Commit is from there until the journal had it.
	Commit latency.Snapshot
	// Total is from publication to commit, and Detection to detection.
	Total, Detection latency.Snapshot
}

// Cause is a part of the latency and its share of the whole.
type Cause struct {
	Name  string
	Share float64 // of the time of all posts, 0 to 1
	Mean  time.Duration
}

// Causes are the parts in the order in which they follow each other, with
// their shares of the total time.
func (l *Latency) Causes() []Cause {
	return Shares([]Cause{
		{Name: "schedule", Mean: l.Schedule.Mean()}, {Name: "visibility", Mean: l.Visibility.Mean()},
		{Name: "failure", Mean: l.Failure.Mean()}, {Name: "queue", Mean: l.Queue.Mean()},
		{Name: "fetch", Mean: l.Fetch.Mean()}, {Name: "process", Mean: l.Process.Mean()}, {Name: "commit", Mean: l.Commit.Mean()},
	})
}

// Shares sets the Share of each cause from the Means.
func Shares(causes []Cause) []Cause {
	var sum time.Duration
	for _, c := range causes {
		sum += c.Mean
	}
	for i := range causes {
		if sum > 0 {
			causes[i].Share = float64(causes[i].Mean) / float64(sum)
		}
	}
	return causes
}

// stages are the live form of Latency.
type stages struct {
	schedule, visibility, failure, queue, fetch, process, commit, total, detection latency.Histogram
}

func (s *stages) snapshot() Latency {
	return Latency{Schedule: s.schedule.Snapshot(), Visibility: s.visibility.Snapshot(), Failure: s.failure.Snapshot(),
		Queue: s.queue.Snapshot(), Fetch: s.fetch.Snapshot(), Process: s.process.Snapshot(), Commit: s.commit.Snapshot(),
		Total: s.total.Snapshot(), Detection: s.detection.Snapshot()}
}

// record takes an event apart. Each moment is no earlier than the one before:
// where clocks disagree a part is 0.
func (s *stages) record(ev *deliver.Event, due time.Time, failed bool, committed time.Time) {
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
	part(&s.schedule, ev.EarliestAt)
	if failed {
		s.visibility.Record(0)
		part(&s.failure, due)
	} else {
		part(&s.visibility, due)
		s.failure.Record(0)
	}
	part(&s.queue, ev.RequestedAt)
	part(&s.fetch, ev.FetchedAt)
	part(&s.process, ev.DetectedAt)
	part(&s.commit, committed)
	s.total.Record(committed.Sub(ev.PublishedAt))
	s.detection.Record(ev.DetectedAt.Sub(ev.PublishedAt))
}

// noteLatency counts a post for which an event was committed.
func (d *Detector) noteLatency(f *flight, ev *deliver.Event, committed time.Time) {
	if f.plan.gap != nil {
		return
	}
	d.stages.record(ev, f.at, f.failed, committed)
	if f.first || f.plan.query.Seen == nil {
		return
	}
	// The post is new to the journal: so it was not seen and forgotten before,
	// and if it is older than the last complete poll, that did not show it.
	needed := max(0, f.since.time().Sub(ev.PublishedAt))
	if needed > 0 {
		d.count.late.Add(1)
	}
	d.late.Observe(committed, needed)
}

// noteFoundLatency counts a post of a query. How late posts become visible is
// not learnt from them: a post may come to answer a query long after its
// publication, when it has more likes.
func (d *Detector) noteFoundLatency(f *search, ev *deliver.Event, committed time.Time) {
	d.queryStages.record(ev, f.at, f.failed, committed)
	if ev.PublishedAt.Before(f.since) {
		d.count.late.Add(1)
	}
}

// earliest is when the first poll was due that could have shown a post.
func (sh *shard) earliest(f *flight, published time.Time) time.Time {
	first := f.at // of the polls since the last complete one
	if tr := sh.troubles[f.slot]; tr != nil && tr.due.Before(first) {
		first = tr.due
	}
	if last := sh.targets.at(f.slot).since.time(); !f.first && published.Before(last) {
		first = last
		if grid, ok := sh.sched.OnGrid(f.slot, published.UnixNano()); ok && grid < first.UnixNano() {
			first = time.Unix(0, grid)
		}
	}
	if first.Before(published) {
		return published
	}
	return first
}
