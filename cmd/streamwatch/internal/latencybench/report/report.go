package report

import (
	"crypto/sha256"
	"encoding/hex"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
)

// Report has the figures of a run. Times whose name ends in _ms are milliseconds, to
// the microsecond.
type Report struct {
	Schema      string            `json:"schema"`
	Started     time.Time         `json:"started"`
	Seconds     float64           `json:"seconds"`
	Settings    map[string]string `json:"settings"`
	Environment map[string]string `json:"environment"`
	AtEnd       map[string]string `json:"environment_at_end"`
	// Key is the SHA-256 of the runner's public key, the first 16 bytes in hex.
	Key string `json:"key"`

	Posts Posts `json:"posts"`
	// Lag is how long after it was due a post was sent: the runner's own lateness.
	Lag Spread `json:"schedule_lag"`
	// Posting is how long the call took that published a post: a latency is uncertain by
	// so much.
	Posting  Spread    `json:"posting"`
	Clock    *Clock    `json:"platform_clock,omitempty"`
	Channels []Channel `json:"channels"`
	// Overflow is how many arrivals were not recorded, because there were too many.
	Overflow int `json:"overflow"`
}

// Posts counts what was due.
type Posts struct {
	Due    int `json:"due"`
	Failed int `json:"failed"` // not published, as far as the runner knows
	Warmup int `json:"warmup"` // published and not scored
	Scored int `json:"scored"`
}

// Spread is how some times are spread.
type Spread struct {
	P50 float64 `json:"p50_ms"`
	P99 float64 `json:"p99_ms"`
	Max float64 `json:"max_ms"`
}

// Of makes the figures of a record.
func Of(rec *receipt.Record) *Report {
	sum := sha256.Sum256(rec.Run.PublicKey)
	r := &Report{
		Schema: receipt.Schema, Started: rec.Run.Started, Seconds: rec.Finish.Finished.Round(time.Millisecond).Seconds(),
		Settings: rec.Run.Settings, Environment: rec.Run.Environment, AtEnd: rec.Finish.Environment,
		Key: hex.EncodeToString(sum[:16]), Overflow: rec.Finish.Overflow, Clock: clockOf(rec),
	}
	var lags, postings []time.Duration
	scored := map[string]*receipt.Post{} // by marker
	known := map[string]bool{}
	for i := range rec.Posts {
		p := &rec.Posts[i]
		known[p.Marker] = true
		r.Posts.Due++
		switch {
		case p.Error != "":
			r.Posts.Failed++
			continue
		case p.Due < rec.Run.Warmup:
			r.Posts.Warmup++
			continue
		}
		scored[p.Marker] = p
		lags, postings = append(lags, p.Sent-p.Due), append(postings, p.Acked-p.Sent)
	}
	r.Posts.Scored = len(scored)
	r.Lag, r.Posting = spread(lags), spread(postings)
	for _, name := range rec.Run.Channels {
		r.Channels = append(r.Channels, channelOf(rec, name, scored, known))
	}
	return r
}

func spread(times []time.Duration) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	s := sorted(times)
	return Spread{ms(s[rank(0.5, len(s))-1]), ms(s[rank(0.99, len(s))-1]), ms(s[len(s)-1])}
}

// ms is a time in milliseconds, to the microsecond.
func ms(d time.Duration) float64 { return float64(d.Round(time.Microsecond).Microseconds()) / 1000 }
