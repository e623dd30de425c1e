package engineui

import (
	"context"
	"sync"
	"time"

	"github.com/streamwatch/streamwatch"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/latency"
)

// sample holds an engine's counters at one time, summed over all its sources.
type sample struct {
	at                    time.Time
	parts                 latency.Parts // for accounts and queries
	handover, send, total latency.Snapshot
	counts                counts
	calls                 map[string]int64 // by source
}

// counts are the counters that pages show the growth of.
type counts struct {
	Events, Calls, Polls, Errors, Delivered, Retried, Failed int64
}

func (c counts) sub(o counts) counts {
	return counts{c.Events - o.Events, c.Calls - o.Calls, c.Polls - o.Polls, c.Errors - o.Errors,
		c.Delivered - o.Delivered, c.Retried - o.Retried, c.Failed - o.Failed}
}

func take(at time.Time, st streamwatch.Stats) sample {
	s := sample{at: at, calls: map[string]int64{}, handover: st.Deliver.Handover, send: st.Deliver.Send, total: st.Deliver.Total}
	s.counts.Delivered, s.counts.Retried, s.counts.Failed = st.Deliver.Delivered, st.Deliver.Retried, st.Deliver.Failed
	for name, d := range sourceStats(&st) {
		s.parts = s.parts.Add(d.Latency).Add(d.Queries.Latency)
		s.counts.Events += d.Events
		s.counts.Calls += d.Calls
		s.calls[name] = d.Calls
		s.counts.Polls += d.Polls + d.Queries.Polls
		s.counts.Errors += d.PollErrors + d.Queries.Errors
	}
	return s
}

// sourceStats returns the statistics of each source by name. An engine with an unnamed source
// has the name "".
func sourceStats(st *streamwatch.Stats) map[string]detect.Stats {
	if st.Sources != nil {
		return st.Sources
	}
	return map[string]detect.Stats{"": st.Detect}
}

// since returns the difference between an earlier sample and s.
func (s sample) since(earlier sample) window {
	calls := map[string]int64{}
	for name, n := range s.calls {
		calls[name] = n - earlier.calls[name]
	}
	return window{
		calls: calls,
		From:  earlier.at, To: s.at, parts: subParts(s.parts, earlier.parts), handover: s.handover.Sub(earlier.handover),
		send: s.send.Sub(earlier.send), total: s.total.Sub(earlier.total), Counts: s.counts.sub(earlier.counts),
	}
}

// subParts returns a minus b.
func subParts(a, b latency.Parts) latency.Parts {
	return latency.Parts{
		Schedule: a.Schedule.Sub(b.Schedule), Visibility: a.Visibility.Sub(b.Visibility), Failure: a.Failure.Sub(b.Failure),
		Queue: a.Queue.Sub(b.Queue), Fetch: a.Fetch.Sub(b.Fetch), Process: a.Process.Sub(b.Process), Commit: a.Commit.Sub(b.Commit),
		Total: a.Total.Sub(b.Total), Detection: a.Detection.Sub(b.Detection),
	}
}

// window is the difference between two samples.
type window struct {
	From, To              time.Time
	parts                 latency.Parts
	handover, send, total latency.Snapshot
	Counts                counts
	calls                 map[string]int64 // by source
}

// Length returns the window's length. Soon after the start it is shorter than requested.
func (w *window) Length() time.Duration { return w.To.Sub(w.From) }

// causes returns the share of each cause, like streamwatch.Stats.Causes.
func (w *window) causes() []latency.Cause {
	return latency.Shares(append(w.parts.Causes(),
		latency.Cause{Name: "handover", Mean: w.handover.Mean()}, latency.Cause{Name: "send", Mean: w.send.Mean()}))
}

// Lengths of the steps between samples, and numbers of steps kept. A list has one sample more
// than steps. A sample takes about 60 KB.
const (
	shortStep, longStep = 10 * time.Second, 2 * time.Minute
	steps               = 30
)

// windows keeps samples of the last five minutes, and fewer of the last hour.
type windows struct {
	stats func() streamwatch.Stats
	now   func() time.Time

	mu          sync.Mutex
	short, long []sample // oldest first; at most steps+1
}

func newWindows(stats func() streamwatch.Stats, now func() time.Time) *windows {
	w := &windows{stats: stats, now: now}
	first := take(now(), stats())
	w.short, w.long = []sample{first}, []sample{first}
	return w
}

// run takes samples until ctx ends.
func (w *windows) run(ctx context.Context) {
	ticker := time.NewTicker(shortStep)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		s := take(w.now(), w.stats())
		w.mu.Lock()
		w.short = keep(w.short, s)
		if n%int(longStep/shortStep) == 0 {
			w.long = keep(w.long, s)
		}
		w.mu.Unlock()
	}
}

func keep(list []sample, s sample) []sample {
	if len(list) > steps {
		copy(list, list[1:])
		list = list[:steps]
	}
	return append(list, s)
}

// last returns the last five minutes, the last hour, and the steps of the hour. The first two
// are shorter if the console has not run for so long.
func (w *windows) last() (short, long window, hour []window) {
	s := take(w.now(), w.stats())
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := 1; i < len(w.long); i++ {
		hour = append(hour, w.long[i].since(w.long[i-1]))
	}
	last := w.long[len(w.long)-1]
	if s.at.Sub(last.at) > 0 {
		hour = append(hour, s.since(last))
	}
	return s.since(w.short[0]), s.since(w.long[0]), hour
}
