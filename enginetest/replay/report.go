package replay

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// LatencyReport is what MeasureLatency found. Durations and rates are in recorded
// time, whatever the Speed; in JSON durations are nanoseconds.
//
// A post is scored if it was published in the scored time, and is detected,
// waiting or missed. One that the handler never got counts with its age at the
// end, so that an engine that polls less or loses posts has no better figures.
type LatencyReport struct {
	Name     string        `json:"name"` // of the recording
	Accounts int           `json:"accounts"`
	Scored   time.Duration `json:"scored_ns"` // how long posts were scored

	Posts    int `json:"posts"`    // published in that time
	Detected int `json:"detected"` // came to the handler
	// Waiting posts were published after the last complete poll of their account.
	Waiting int `json:"waiting"`
	// Missed posts were on a page that the platform answered, or on an older page
	// of a poll, and never came to the handler.
	Missed int `json:"missed"`
	// Doubled counts how often the handler got a post again, scored or not.
	Doubled int `json:"doubled"`

	// Latencies from publication to the handler, exact.
	Mean time.Duration `json:"mean_ns"`
	P50  time.Duration `json:"p50_ns"`
	P95  time.Duration `json:"p95_ns"`
	P99  time.Duration `json:"p99_ns"`
	Max  time.Duration `json:"max_ns"`
	// Latency is the histogram of the same latencies. Snapshot.Add merges those of
	// several runs.
	Latency latency.Snapshot `json:"-"`
	// Causes is what the latency of the posts committed in the scored time was
	// spent on, in order: see streamwatch.Stats.Causes. Most of it is "schedule",
	// waiting for the next poll; "queue" is waiting for FetchRate, a rate limit or
	// a slot, "fetch" the call, "commit" the store, "handover" and "send" the
	// delivery to the handler. Shares add up to 1, means to the mean of these
	// posts.
	Causes []latency.Cause `json:"causes"`

	// MeanOverAccounts is the mean of the accounts' means: each account counts the
	// same, however much it posts.
	MeanOverAccounts time.Duration `json:"mean_over_accounts_ns"`
	// WorstAccount is the highest mean of an account with 10 scored posts or
	// more, 0 if there is none.
	WorstAccount time.Duration `json:"worst_account_ns"`

	// LongestGap is the longest time without an answered poll of an account,
	// of those that ended while posts were scored or lasted until the end.
	LongestGap time.Duration `json:"longest_gap_ns"`
	// Calls is how many calls the platform got while posts were scored.
	Calls          int     `json:"calls"`
	CallsPerSecond float64 `json:"calls_per_second"`
}

// worstOf is how many posts an account must have to be the worst.
const worstOf = 10

// report scores what came. Nothing runs any more.
func (m *measurement) report() LatencyReport {
	r := LatencyReport{
		Name: m.cfg.Arrivals.Name, Accounts: len(m.got), Scored: m.replay.recorded(m.end - m.from).Round(time.Millisecond),
		Doubled: m.doubled, LongestGap: m.gap, Calls: m.calls, Causes: m.causes,
	}
	r.CallsPerSecond = float64(m.calls) / r.Scored.Seconds()
	var all []time.Duration
	var histogram latency.Histogram
	var sum, sumOfMeans float64
	posting := 0
	for account, posts := range m.cfg.Arrivals.Posts {
		var own float64
		n := 0
		for post, recorded := range posts {
			published := m.replay.played(recorded)
			if published < m.from || published > m.end {
				continue
			}
			at := m.got[account][post]
			switch {
			case at != 0:
				r.Detected++
			case m.replay.owed(account, post):
				r.Missed++
				at = m.end
			default:
				r.Waiting++
				at = m.end
			}
			late := m.replay.recorded(at - published)
			all = append(all, late)
			histogram.Record(late)
			own += float64(late)
			n++
		}
		if n == 0 {
			continue
		}
		posting++
		sum += own
		mean := own / float64(n)
		sumOfMeans += mean
		if n >= worstOf {
			r.WorstAccount = max(r.WorstAccount, time.Duration(mean))
		}
	}
	r.Posts, r.Latency = len(all), histogram.Snapshot()
	if r.Posts == 0 {
		return r
	}
	slices.Sort(all)
	quantile := func(q float64) time.Duration { return all[max(0, int(math.Ceil(q*float64(len(all))))-1)] }
	r.Mean = time.Duration(sum / float64(len(all)))
	r.P50, r.P95, r.P99, r.Max = quantile(0.50), quantile(0.95), quantile(0.99), all[len(all)-1]
	r.MeanOverAccounts = time.Duration(sumOfMeans / float64(posting))
	return r
}

// causesBetween is what the latency of the posts was spent on that were committed
// between two statistics of an engine.
func causesBetween(before, after streamwatch.Stats) []latency.Cause {
	was, is := &before.Detect.Latency, &after.Detect.Latency
	for _, part := range []struct{ is, was *latency.Snapshot }{
		{&is.Schedule, &was.Schedule}, {&is.Visibility, &was.Visibility}, {&is.Failure, &was.Failure},
		{&is.Queue, &was.Queue}, {&is.Fetch, &was.Fetch}, {&is.Process, &was.Process}, {&is.Commit, &was.Commit},
		{&after.Deliver.Handover, &before.Deliver.Handover}, {&after.Deliver.Send, &before.Deliver.Send},
	} {
		*part.is = part.is.Sub(*part.was)
	}
	after.Sources, after.Detect.Queries = nil, detect.QueryStats{} // the recording's accounts alone
	return after.Causes()
}

// String is a table, without a line break at its end.
func (r LatencyReport) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %d accounts, %s scored\n", r.Name, r.Accounts, r.Scored)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "posts\tdetected\twaiting\tmissed\tdoubled\tcalls\tcalls/s\tlongest gap\t\n")
	fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t%d\t%.4g\t%s\t\n",
		r.Posts, r.Detected, r.Waiting, r.Missed, r.Doubled, r.Calls, r.CallsPerSecond, seconds(r.LongestGap))
	fmt.Fprintf(table, "mean\tp50\tp95\tp99\tmax\tover accounts\tworst account\t\n")
	fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t\n", seconds(r.Mean), seconds(r.P50), seconds(r.P95), seconds(r.P99),
		seconds(r.Max), seconds(r.MeanOverAccounts), seconds(r.WorstAccount))
	table.Flush()
	if len(r.Causes) > 0 {
		b.WriteString("of which")
		for _, c := range r.Causes {
			fmt.Fprintf(&b, " %s %s (%.1f %%),", c.Name, seconds(c.Mean), 100*c.Share)
		}
	}
	return strings.TrimRight(b.String(), ",\n")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.4g s", d.Seconds()) }
