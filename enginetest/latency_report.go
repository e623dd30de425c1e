package enginetest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// LatencyReport is what MeasureLatency found. Times are recorded ones, whatever
// the speed; in JSON they are nanoseconds.
//
// Each scored post is detected, waiting or missed. One that the handler never
// got counts with the age it had at the end: who does not poll or loses posts
// gets no better figures by it.
type LatencyReport struct {
	Name     string        `json:"name"` // of the recording
	Accounts int           `json:"accounts"`
	Scored   time.Duration `json:"scored_ns"` // how long posts were scored

	Posts    int `json:"posts"`    // published in that time
	Detected int `json:"detected"` // came to the handler
	// Waiting are those that nobody asked for: published after the last poll of
	// their account that ran to its end.
	Waiting int `json:"waiting"`
	// Missed are those that the platform showed, or would have on an older page
	// of a poll, and that never came to the handler.
	Missed int `json:"missed"`
	// Doubled counts how often the handler got a post again, also one that is
	// not scored.
	Doubled int `json:"doubled"`

	// Latencies from publication to the handler.
	Mean time.Duration `json:"mean_ns"`
	P50  time.Duration `json:"p50_ns"`
	P95  time.Duration `json:"p95_ns"`
	P99  time.Duration `json:"p99_ns"`
	Max  time.Duration `json:"max_ns"`
	// MeanOverAccounts is the mean of the accounts' means, which those that post
	// much do not govern.
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
		Doubled: m.doubled, LongestGap: m.gap, Calls: m.calls,
	}
	r.CallsPerSecond = float64(m.calls) / r.Scored.Seconds()
	var all []time.Duration
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
			latency := m.replay.recorded(at - published)
			all = append(all, latency)
			own += float64(latency)
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
	r.Posts = len(all)
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
	return strings.TrimSuffix(b.String(), "\n")
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.4g s", d.Seconds()) }
