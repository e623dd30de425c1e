package latencybench

import (
	"encoding/json"
	"io"
	"time"
)

// report has the figures of a run. Fields ending in _ms are milliseconds, to the
// microsecond.
type report struct {
	Started     time.Time         `json:"started"`
	Seconds     float64           `json:"seconds"`
	Settings    map[string]string `json:"settings"`
	Environment map[string]string `json:"environment"`

	Posts counts `json:"posts"`
	// Lag is how long after it was due a post was sent: the runner's own lateness.
	Lag spread `json:"schedule_lag"`
	// Posting is how long the call took that published a post: a latency is uncertain by
	// so much.
	Posting  spread    `json:"posting"`
	Channels []channel `json:"channels"`
	// Overflow is how many arrivals were not recorded, because there were too many.
	Overflow int `json:"overflow"`
}

// counts is what was due.
type counts struct {
	Due    int `json:"due"`
	Failed int `json:"failed"` // not published, as far as the runner knows
	Warmup int `json:"warmup"` // published and not scored
	Scored int `json:"scored"`
}

// spread is how some times are spread.
type spread struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// reportOf makes the figures of a record.
func reportOf(rec *record) *report {
	r := &report{
		Started: rec.started, Seconds: rec.finished.Round(time.Millisecond).Seconds(),
		Settings: rec.settings, Environment: rec.environment, Overflow: rec.overflow,
	}
	var lags, postings []time.Duration
	scored := map[string]*post{} // by marker
	known := map[string]bool{}
	for i := range rec.posts {
		p := &rec.posts[i]
		known[p.marker] = true
		r.Posts.Due++
		switch {
		case p.failed:
			r.Posts.Failed++
			continue
		case p.due < rec.warmup:
			r.Posts.Warmup++
			continue
		}
		scored[p.marker] = p
		lags, postings = append(lags, p.sent-p.due), append(postings, p.acked-p.sent)
	}
	r.Posts.Scored = len(scored)
	r.Lag, r.Posting = spreadOf(lags), spreadOf(postings)
	for _, name := range rec.channels {
		r.Channels = append(r.Channels, channelOf(rec, name, scored, known))
	}
	return r
}

// WriteJSON writes the figures as one JSON object.
func (r *report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

func spreadOf(times []time.Duration) spread {
	if len(times) == 0 {
		return spread{}
	}
	s := sorted(times)
	return spread{ms(s[rank(0.5, len(s))-1]), ms(s[rank(0.99, len(s))-1]), ms(s[len(s)-1])}
}

// ms is a time in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Round(time.Microsecond).Microseconds()) / 1000 }
