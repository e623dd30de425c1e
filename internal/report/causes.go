package report

import (
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

// causeNames are the causes of the time from publication to acknowledgement, in their order.
var causeNames = [causes]string{
	"schedule", // until the next poll was due
	"wait",     // until the call that returned the post: the platform showed it late, polls failed, or they waited
	"fetch",    // the call
	"process",  // until the post was found to be new
	"commit",   // until the store had it
	"handover", // until the first attempt
	"retries",  // until the attempt that succeeded, if the first did not: handover, too
	"send",     // the attempt that succeeded
}

const causes = 8

// took divides the time from publication to acknowledgement into its causes. A time that is not known
// counts to the next cause. Where clocks disagree, a cause took no time.
func took(ev *deliver.Event, a *deliver.Attempt) (took [causes]time.Duration) {
	begun := [2]time.Time{a.At} // for handover and retries
	if a.N > 1 {
		begun = [2]time.Time{{}, a.At}
	}
	at := ev.PublishedAt
	for i, end := range [causes]time.Time{ev.EarliestAt, ev.RequestedAt, ev.FetchedAt, ev.DetectedAt, ev.CommittedAt, begun[0], begun[1], a.At.Add(a.Duration)} {
		if end.After(at) {
			took[i], at = end.Sub(at), end
		}
	}
	return took
}

// causesOf returns the causes of a step's Latency; none without any.
func causesOf(s *step) (list []latency.Cause) {
	n := time.Duration(s.Latency.Count())
	if n == 0 {
		return nil
	}
	for i, name := range causeNames {
		list = append(list, latency.Cause{Name: name, Mean: s.Took[i] / n})
	}
	return latency.Shares(list)
}
