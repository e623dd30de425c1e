package latency

import "time"

// Cause is one part of the latency.
type Cause struct {
	Name  string        `json:"name"`
	Share float64       `json:"share"` // of the whole latency, 0 to 1
	Mean  time.Duration `json:"mean_ns"`
}

// Shares sets each cause's Share to its Mean divided by the sum of the Means, and returns
// causes.
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

// Parts divides the time from a post's publication to the commit of its event. Each part is a
// histogram over all posts with a committed event. Posts found while reading a gap are left out,
// because their delays are not due to the polls. The parts of one post add up to its Total.
type Parts struct {
	// Schedule is from the publication to the time when the next poll was due.
	Schedule Snapshot
	// Visibility is from the end of Schedule to the time when the poll that found the post was
	// due, if every poll in between succeeded. The platform was late to show the post.
	Visibility Snapshot
	// Failure is the same time as Visibility, but if polls or commits in between failed.
	Failure Snapshot
	// Queue is from when the poll was due until the call that returned the post began. It
	// includes the waits for the budget, a rate limit and a free slot, and the calls for earlier
	// pages.
	Queue Snapshot
	// Fetch is the duration of the call that returned the post.
	Fetch Snapshot
	// Process is from the end of that call until the post was found to be new. It includes the
	// calls for older pages, and the wait for the shard's goroutine.
	Process Snapshot
	// Commit is from the end of Process until the journal had stored the event.
	Commit Snapshot
	// Total is from the publication to the commit. Detection is from the publication to the
	// detection of the post.
	Total, Detection Snapshot
}

// Causes returns the parts in the order in which they happen, with their shares of the
// sum of all parts.
func (l *Parts) Causes() []Cause {
	return Shares([]Cause{
		{Name: "schedule", Mean: l.Schedule.Mean()}, {Name: "visibility", Mean: l.Visibility.Mean()},
		{Name: "failure", Mean: l.Failure.Mean()}, {Name: "queue", Mean: l.Queue.Mean()},
		{Name: "fetch", Mean: l.Fetch.Mean()}, {Name: "process", Mean: l.Process.Mean()}, {Name: "commit", Mean: l.Commit.Mean()},
	})
}

// Add returns the durations of l and other together.
func (l Parts) Add(other Parts) Parts {
	return Parts{
		Schedule: l.Schedule.Add(other.Schedule), Visibility: l.Visibility.Add(other.Visibility), Failure: l.Failure.Add(other.Failure),
		Queue: l.Queue.Add(other.Queue), Fetch: l.Fetch.Add(other.Fetch), Process: l.Process.Add(other.Process), Commit: l.Commit.Add(other.Commit),
		Total: l.Total.Add(other.Total), Detection: l.Detection.Add(other.Detection),
	}
}
