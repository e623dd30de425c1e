package latencybench

import (
	"slices"
	"time"
)

// report has the figures of a run.
type report struct {
	posts counts
	// lag is the time from when a post was due until the runner sent it.
	lag spread
	// posting is the time of the call that published a post. Each latency has this uncertainty.
	posting  spread
	channels []channel
	// overflow counts arrivals that were not recorded, because there were too many.
	overflow int
}

// counts is what was due.
type counts struct {
	due    int
	failed int // not published, as far as the runner knows
	warmup int // published and not scored
	scored int
}

// spread is how some times are spread.
type spread struct{ p50, p99, longest time.Duration }

// reportOf makes the figures of a record.
func reportOf(rec *record) *report {
	r := &report{overflow: rec.overflow}
	var lags, postings []time.Duration
	scored := map[string]*post{} // by marker
	known := map[string]bool{}
	for i := range rec.posts {
		p := &rec.posts[i]
		known[p.marker] = true
		r.posts.due++
		switch {
		case p.failed:
			r.posts.failed++
			continue
		case p.due < rec.warmup:
			r.posts.warmup++
			continue
		}
		scored[p.marker] = p
		lags, postings = append(lags, p.sent-p.due), append(postings, p.acked-p.sent)
	}
	r.posts.scored = len(scored)
	r.lag, r.posting = spreadOf(lags), spreadOf(postings)
	for _, name := range rec.channels {
		r.channels = append(r.channels, channelOf(rec, name, scored, known))
	}
	return r
}

func spreadOf(times []time.Duration) spread {
	if len(times) == 0 {
		return spread{}
	}
	slices.Sort(times)
	return spread{times[rank(0.5, len(times))-1], times[rank(0.99, len(times))-1], times[len(times)-1]}
}
