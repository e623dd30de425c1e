package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
)

// summary is what the run comes to.
type summary struct {
	Posted     int       `json:"posted"`
	Detected   int       `json:"detected"`
	Delivered  int       `json:"delivered"`
	Verified   int       `json:"verified"`
	Lost       int       `json:"lost"`
	Duplicated int       `json:"duplicated"`
	Latency    latencies `json:"latency_ms"`

	notes []string // what else is worth a line
}

// latencies are milliseconds from publication to detection.
type latencies struct {
	P50 int64 `json:"p50"`
	P95 int64 `json:"p95"`
	P99 int64 `json:"p99"`
	Max int64 `json:"max"`
}

func (s *summary) print(w io.Writer, asJSON bool) {
	fmt.Fprintf(w, "\nposted %d · detected %d · delivered %d · verified %d · lost %d · duplicated %d\n",
		s.Posted, s.Detected, s.Delivered, s.Verified, s.Lost, s.Duplicated)
	fmt.Fprintf(w, "latency, publication to detection: p50 %d ms · p95 %d ms · p99 %d ms · max %d ms\n",
		s.Latency.P50, s.Latency.P95, s.Latency.P99, s.Latency.Max)
	for _, n := range s.notes {
		fmt.Fprintln(w, n)
	}
	if asJSON {
		line, err := json.Marshal(s)
		if err != nil {
			panic(err) // numbers only
		}
		fmt.Fprintf(w, "%s\n", line)
	}
}

// brought adds a note on the posts that a stream and probes have found, if they were used.
func (s *summary) brought(st detect.Stats, stream, probes bool) {
	if push := st.Stream; stream {
		s.notes = append(s.notes, fmt.Sprintf("stream: brought %d posts, p50 %d ms · p95 %d ms after publication, and missed %d that polls found",
			push.Posts, push.Lag.Quantile(0.50).Milliseconds(), push.Lag.Quantile(0.95).Milliseconds(), push.Misses))
	}
	if probe := st.Probes; probes {
		s.notes = append(s.notes, fmt.Sprintf("probes: %d calls showed %d changes, and missed %d posts that polls found", probe.Calls, probe.Changes, probe.Missed))
	}
}

// ticker prints detections as they happen and keeps their latencies.
type ticker struct {
	w  io.Writer
	mu sync.Mutex
	ms []int64
}

// detected counts a post, and prints it.
func (t *ticker) detected(e deliver.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ms = append(t.ms, e.Latency.Milliseconds())
	const clock = "15:04:05.000"
	fmt.Fprintf(t.w, "%s  %-24s  %-46s  published %s  detected %s  %6d ms\n", e.DetectedAt.Local().Format(clock),
		"@"+e.AuthorUsername, oneLine(e.TextPreview, 44), e.PublishedAt.Local().Format(clock),
		e.DetectedAt.Local().Format(clock), e.Latency.Milliseconds())
}

// Write makes the ticker an output for a log, so that its lines and the ticker's do not mix.
func (t *ticker) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.w.Write(p)
}

func (t *ticker) print(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(t.w, format, args...)
}

func (t *ticker) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.ms)
}

// latencies returns percentiles of the latencies, by nearest rank.
func (t *ticker) latencies() latencies {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.ms) == 0 {
		return latencies{}
	}
	slices.Sort(t.ms)
	rank := func(q float64) int64 { return t.ms[max(0, int(math.Ceil(q*float64(len(t.ms))))-1)] }
	return latencies{P50: rank(0.50), P95: rank(0.95), P99: rank(0.99), Max: t.ms[len(t.ms)-1]}
}

// oneLine quotes a text's beginning without control characters.
func oneLine(s string, n int) string {
	clean := []rune(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 }), " "))
	if len(clean) > n {
		clean = append(clean[:n-1], '…')
	}
	return `"` + string(clean) + `"`
}

var errIncomplete = errors.New("the run is not clean: see the summary")
