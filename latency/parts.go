package latency

import "time"

// Cause is a part of the latency and its share of the whole.
type Cause struct {
	Name  string        `json:"name"`
	Share float64       `json:"share"` // of the time of all posts, 0 to 1
	Mean  time.Duration `json:"mean_ns"`
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

// Parts tell where the time from publication to commit went: each part is a
// histogram over the posts for which an event was committed, and the parts of
// one post add up to its Total. Posts from gaps are not among them: they say
// nothing of the polls.
type Parts struct {
	// Schedule is from publication to the first poll due after it.
	Schedule Snapshot
	// Visibility is from there to the poll that found the post, where polls
	// between did not show it: the upstream was late.
	Visibility Snapshot
	// Failure is the same time where polls or commits between had failed.
	Failure Snapshot
	// Queue is from when the poll was due until its call began: waiting for the
	// budget, a rate limit, a slot, and for the pages before.
	Queue Snapshot
	// Fetch is the call that brought the post.
	Fetch Snapshot
	// Process is from the answer until the post was known to be new: reading
	// the pages behind it, and waiting for the shard's goroutine.
	Process Snapshot
	// Commit is from there until the journal had it.
	Commit Snapshot
	// Total is from publication to commit, and Detection to detection.
	Total, Detection Snapshot
}

// Causes are the parts in the order in which they follow each other, with
// their shares of the total time.
func (l *Parts) Causes() []Cause {
	return Shares([]Cause{
		{Name: "schedule", Mean: l.Schedule.Mean()}, {Name: "visibility", Mean: l.Visibility.Mean()},
		{Name: "failure", Mean: l.Failure.Mean()}, {Name: "queue", Mean: l.Queue.Mean()},
		{Name: "fetch", Mean: l.Fetch.Mean()}, {Name: "process", Mean: l.Process.Mean()}, {Name: "commit", Mean: l.Commit.Mean()},
	})
}

// Add returns what l and other hold together.
func (l Parts) Add(other Parts) Parts {
	return Parts{
		Schedule: l.Schedule.Add(other.Schedule), Visibility: l.Visibility.Add(other.Visibility), Failure: l.Failure.Add(other.Failure),
		Queue: l.Queue.Add(other.Queue), Fetch: l.Fetch.Add(other.Fetch), Process: l.Process.Add(other.Process), Commit: l.Commit.Add(other.Commit),
		Total: l.Total.Add(other.Total), Detection: l.Detection.Add(other.Detection),
	}
}
