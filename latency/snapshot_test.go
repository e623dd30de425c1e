package latency_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/latency"
)

const ms = time.Millisecond

func TestEmptySnapshot(t *testing.T) {
	var h latency.Histogram
	for name, s := range map[string]latency.Snapshot{
		"zero value":                   {},
		"of an empty histogram":        h.Snapshot(),
		"difference with itself":       of(ms).Sub(of(ms)),
		"difference of none":           latency.Snapshot{}.Sub(of(ms)),
		"sum of none":                  latency.Snapshot{}.Add(h.Snapshot()),
		"the earlier less the later":   of(ms).Sub(of(ms, ms)),
		"less what it never contained": of(ms).Sub(of(ms, time.Hour)),
	} {
		t.Run(name, func(t *testing.T) {
			if s.Count() != 0 || s.Sum() != 0 || s.Mean() != 0 || s.Max() != 0 || s.Quantile(0.5) != 0 {
				t.Errorf("%s, sum %s: want nothing", s, s.Sum())
			}
		})
	}
}

// What is not longer than d is counted but for what is within 1/16 of it.
func TestAtMost(t *testing.T) {
	s := of(0, ms, 2*ms, time.Second, time.Hour)
	for _, row := range []struct {
		d    time.Duration
		want int64
	}{
		{-1, 0}, {time.Microsecond, 1}, {ms - ms/16, 1}, {ms + ms/15, 2}, {2*ms - ms/8, 2}, {2*ms + ms/7, 3},
		{time.Minute, 4}, {time.Hour - 1, 4}, {time.Hour, 5}, {math.MaxInt64, 5},
	} {
		if got := s.AtMost(row.d); got != row.want {
			t.Errorf("AtMost(%s) = %d, want %d", row.d, got, row.want)
		}
	}
	if n := (latency.Snapshot{}).AtMost(time.Hour); n != 0 {
		t.Errorf("AtMost of an empty snapshot = %d, want 0", n)
	}
}

// The difference of two snapshots is what was recorded between them.
func TestSub(t *testing.T) {
	for _, row := range []struct {
		name        string
		first, then []time.Duration
	}{
		{"nothing before", nil, []time.Duration{ms, 2 * ms}},
		{"shorter ones later", []time.Duration{time.Hour, time.Minute}, []time.Duration{ms, 3 * ms}},
		{"longer ones later", []time.Duration{ms, 3 * ms}, []time.Duration{time.Minute, time.Hour}},
		{"the longest again", []time.Duration{time.Hour}, []time.Duration{ms, time.Hour}},
		{"the same ones", []time.Duration{ms, 2 * ms, 2 * ms}, []time.Duration{ms, 2 * ms, 2 * ms}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var h latency.Histogram
			for _, d := range row.first {
				h.Record(d)
			}
			before := h.Snapshot()
			was := before.String()
			for _, d := range row.then {
				h.Record(d)
			}
			got, want := h.Snapshot().Sub(before), of(row.then...)
			if got.Count() != want.Count() || got.Sum() != want.Sum() || got.Mean() != want.Mean() {
				t.Errorf("%s, want %s", got, want)
			}
			checkUpper(t, "Max", got.Max(), want.Max())
			for _, q := range []float64{0, 0.5, 1} {
				checkUpper(t, fmt.Sprint("quantile ", q), got.Quantile(q), exact(row.then, q))
			}
			if before.String() != was {
				t.Errorf("the earlier snapshot changed to %s, was %s", before, was)
			}
		})
	}
}

func TestAdd(t *testing.T) {
	a, b := of(ms, 5*ms), of(3*ms, time.Second)
	var none latency.Snapshot
	for name, row := range map[string]struct{ got, want latency.Snapshot }{
		"two":           {a.Add(b), of(ms, 5*ms, 3*ms, time.Second)},
		"in turn":       {b.Add(a), of(ms, 5*ms, 3*ms, time.Second)},
		"with none":     {a.Add(none), a},
		"to none":       {none.Add(a), a},
		"and taken off": {a.Add(b).Sub(b), a},
		"operands stay": {a, of(ms, 5*ms)},
	} {
		t.Run(name, func(t *testing.T) {
			if row.got.Count() != row.want.Count() || row.got.Sum() != row.want.Sum() || row.got.Quantile(0.5) != row.want.Quantile(0.5) {
				t.Errorf("%s, want %s", row.got, row.want)
			}
			checkUpper(t, "Max", row.got.Max(), row.want.Max())
		})
	}
}

// A service that runs for years, or one whose platform gives old dates.
func TestSumIsBounded(t *testing.T) {
	var h latency.Histogram
	for range 10_000 {
		h.Record(longest)
	}
	s := h.Snapshot()
	if s.Sum() != math.MaxInt64 {
		t.Errorf("Sum = %s, want the longest time.Duration for what is more", s.Sum())
	}
	if off := s.Mean() - longest; off.Abs() > time.Microsecond {
		t.Errorf("Mean = %s, want %s", s.Mean(), longest)
	}
}

func TestPrinted(t *testing.T) {
	for name, row := range map[string]struct {
		s          latency.Snapshot
		text, json string
	}{
		"empty": {latency.Snapshot{}, "count 0, mean 0s, p50 0s, p95 0s, p99 0s, max 0s",
			`{"count":0,"mean_ms":0,"p50_ms":0,"p95_ms":0,"p99_ms":0,"max_ms":0}`},
		"one": {of(812345678 * time.Nanosecond), "count 1, mean 812ms, p50 812ms, p95 812ms, p99 812ms, max 812ms",
			`{"count":1,"mean_ms":812.346,"p50_ms":812.346,"p95_ms":812.346,"p99_ms":812.346,"max_ms":812.346}`},
		"three": {of(40*time.Microsecond, 2*ms, 90*time.Second), "count 3, mean 30s, p50 2.03ms, p95 1m30s, p99 1m30s, max 1m30s",
			`{"count":3,"mean_ms":30000.68,"p50_ms":2.032,"p95_ms":90000,"p99_ms":90000,"max_ms":90000}`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := fmt.Sprintf("%v", row.s); got != row.text {
				t.Errorf("printed %s\nwant    %s", got, row.text)
			}
			got, err := json.Marshal(map[string]latency.Snapshot{"s": row.s})
			if want := `{"s":` + row.json + `}`; err != nil || string(got) != want {
				t.Errorf("JSON %s, %v\nwant %s", got, err, want)
			}
		})
	}
}
