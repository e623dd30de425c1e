package figure

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/detect"
	"github.com/streamwatch/streamwatch/internal/report"
	"github.com/streamwatch/streamwatch/latency"
)

func TestTexts(t *testing.T) {
	for _, row := range []struct{ got, want string }{ // ~ is a no-break space
		{Duration(0), "0"}, {Duration(512), "<~0.01~ms"}, {Duration(250 * time.Microsecond), "0.25~ms"}, {Duration(2449 * time.Microsecond), "2.4~ms"}, {Duration(812 * time.Millisecond), "812~ms"},
		{Duration(3210 * time.Millisecond), "3.2~s"}, {Duration(59960 * time.Millisecond), "1~min"}, {Duration(250 * time.Second), "4~min 10~s"}, {Duration(2 * time.Minute), "2~min"}, {Duration(125 * time.Minute), "2~h 5~min"},
		{Duration(100 * time.Hour), "4~d 4~h"}, {Duration(-time.Second), "−1~s"},
		{About(0), "0~s"}, {About(8900 * time.Millisecond), "8~s"}, {About(250 * time.Second), "4~min"}, {About(-250 * time.Second), "4~min"}, {About(192 * time.Minute), "3~h 12~min"}, {About(26*time.Hour + 4*time.Minute), "26~h"}, {About(100 * time.Hour), "4~d"},
		{Count(0), "0"}, {Count(999), "999"}, {Count(int64(1234567)), "1\u202f234\u202f567"}, {Count(-1234), "−1\u202f234"}, {Count(uint64(math.MaxUint64)), "18\u202f446\u202f744\u202f073\u202f709\u202f551\u202f615"},
		{Decimal(0), "0.0"}, {Decimal(0.12345), "0.12"}, {Decimal(0.001), "< 0.01"}, {Decimal(12.345), "12.3"}, {Decimal(123.45), "123"}, {Decimal(12345.6), "12\u202f346"},
		{Share(0), "0.0~%"}, {Share(0.0001), "<~0.1~%"}, {Share(0.456), "45.6~%"},
		{Credits(0), "0.000"}, {Credits(5000), "5.000"}, {Credits(5250), "5.250"}, {Credits(-5), "−0.005"}, {Credits(math.MinInt64), "−9\u202f223\u202f372\u202f036\u202f854\u202f775.808"},
		{Credits(1234567 * billing.Credit), "1\u202f234\u202f567.000"},
		{Ordinal(1) + Ordinal(2) + Ordinal(3) + Ordinal(4) + Ordinal(11) + Ordinal(12) + Ordinal(21) + Ordinal(111), "1st2nd3rd4th11th12th21st111th"},
		{Plural(1, "poll"), "1 poll"}, {Plural(0, "poll"), "0 polls"}, {Plural(2000, "poll"), "2\u202f000 polls"},
		{Rate(2), "2.0 a second"}, {Rate(0.01), "36.0 an hour"}, {Rate(1e-4), "8.6 a day"},
		{Answer(&deliver.Attempt{StatusCode: 503, Error: "busy"}), "503"}, {Answer(&deliver.Attempt{Error: "timeout"}), "timeout"}, {Answer(&deliver.Attempt{}), "accepted"},
	} {
		if row.got != strings.ReplaceAll(row.want, "~", "\u00a0") {
			t.Errorf("got %q, want %q", row.got, row.want)
		}
	}
}

// history has a step in which much happened, one in which little did, and one without an engine.
func history() report.History {
	var much, little latency.Histogram
	for range 99 {
		much.Record(2 * time.Second)
	}
	much.Record(90 * time.Second)
	little.Record(20 * time.Millisecond)
	from := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	h := report.History{Length: time.Minute, Steps: []report.HistoryStep{
		{Known: true, Events: 900, Calls: 30, Attempts: 110, Acknowledged: 100, Failed: 10, Latency: much.Snapshot()}, {},
		{Known: true, Events: 1, Attempts: 1, Acknowledged: 1, Latency: little.Snapshot()}}}
	for i := range h.Steps {
		h.Steps[i].From = from.Add(time.Duration(i) * time.Minute)
	}
	return h
}

func TestPlots(t *testing.T) {
	h := history()
	list := Plots(h)
	if len(list) != 4 {
		t.Fatalf("%d plots, want 4: nothing has a price", len(list))
	}
	events, late, attempts := list[0], list[1], list[2]
	if len(events.Bars) != 2 || events.Bars[0] != (Bar{"f0", "24.0", "12.0", "192.0", "108.0"}) || events.Bars[1] != (Bar{"f0 fpart", "504.0", "118.5", "192.0", "1.5"}) {
		t.Errorf("bars of events: %+v; want 900 of 1,000 high, and the last one pale and to be seen", events.Bars)
	}
	if strings.Join(events.Y, " ") != "1\u202f000 500 0" || events.Hits[0].Text != "28 Nov 12:00–12:01: 900" || events.Hits[1].Text != "28 Nov 12:01–12:02: no engine ran" ||
		events.Hits[2].Text != "28 Nov 12:02–now: 1" {
		t.Errorf("labels %q, hits %+v", events.Y, events.Hits)
	}
	if strings.Join(late.Y, "|") != strings.ReplaceAll("10~s|1~s|100~ms|10~ms", "~", "\u00a0") {
		t.Errorf("labels of the latency: %q", late.Y)
	}
	if len(late.Lines) != 6 || !strings.HasPrefix(late.Text, "Publication to 2xx, of all steps: p50 2.0") {
		t.Errorf("lines of the latency: %+v, %q; want three, each broken where nothing is known", late.Lines, late.Text)
	}
	if len(attempts.Bars) != 3 || attempts.Zero != "80.0" || attempts.Bars[1].Class != "fbad" || attempts.Bars[1].Y != "80.0" || attempts.Bars[1].Height != "40.0" {
		t.Errorf("attempts: zero at %s, bars %+v; want failures below, by their own scale", attempts.Zero, attempts.Bars)
	}
	h.Steps[0].Cost = 0.4
	if list := Plots(h); len(list) != 5 || strings.Join(list[4].Y, " ") != "0.5 0.25 0" {
		t.Errorf("no plot of the price: %d", len(list))
	}
	for _, p := range Plots(report.History{Length: time.Hour * 2, Steps: make([]report.HistoryStep, 84)}) {
		if len(p.Bars) > 0 || len(p.Lines) > 0 || len(p.Hits) != 84 || len(p.X) != 7 {
			t.Errorf("a plot of nothing: %+v", p)
		}
	}
}

func TestStack(t *testing.T) {
	s := NewStack(latency.Shares([]latency.Cause{{Name: "wait", Mean: time.Second}, {Name: "fetch", Mean: 3 * time.Second}, {Name: "send"}}))
	if s.Text != "wait 25.0\u00a0%, fetch 75.0\u00a0%" || s.Parts[1].X != "25.0" || s.Parts[1].Width != "74.8" || s.Parts[2].Width != "0.0" {
		t.Errorf("stack %+v", s)
	}
	if s := NewStack(nil); s.Text != "nothing" {
		t.Errorf("a stack of nothing: %+v", s)
	}
}

// The steps of an event follow each other, and those of a delivery have its attempts and waits.
func TestWay(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	second := func(s float64) time.Time { return at.Add(time.Duration(s * float64(time.Second))) }
	e := deliver.Event{PublishedAt: at, EarliestAt: second(10), FetchedAt: second(10.5), DetectedAt: second(10.5), CommittedAt: second(10.6)}
	w := NewWay(&e, []Lane{{ID: "dlv_1", Name: "a.example", Log: []deliver.Attempt{{N: 1, At: second(10.6), Duration: 10 * time.Second, Error: "timeout"}, {N: 2, At: second(50), Duration: time.Second, StatusCode: 200}}}, {ID: "dlv_2", Name: "b.example"}})
	var got []string
	for _, s := range w.Steps {
		got = append(got, s.Name+" "+s.What+" "+Duration(s.At)+" +"+Duration(s.Took))
	}
	want := []string{"Published by the platform’s clock 0 +0", "Due the first poll after the publication 0 +10 s", "Answered the call that brought it 10 s +500 ms",
		"Judged read, and found to be new 10.5 s +0", "Committed until the store had it 10.5 s +100 ms", "Detected  0 +10.5 s", "a.example 1st attempt: timeout 10.6 s +10 s",
		" waited 20.6 s +29.4 s", " 2nd attempt: 200 50 s +1 s", "b.example no attempt yet 0 +0"}
	if text := strings.ReplaceAll(strings.Join(got, "\n"), "\u00a0", " "); text != strings.Join(want, "\n") {
		t.Errorf("steps\n%s\nwant\n%s", text, strings.Join(want, "\n"))
	}
	if strings.Join(w.Ticks, " ") != strings.ReplaceAll("0 10~s 20~s 30~s 40~s 50~s", "~", "\u00a0") || w.Steps[6].Class != "fbad" || w.Steps[8].Class != "fgood" || w.Steps[9].Done {
		t.Errorf("ticks %q, steps %+v", w.Ticks, w.Steps[6:])
	}
	if w := NewWay(&deliver.Event{DetectedAt: at, CommittedAt: at}, nil); len(w.Ticks) != 1 {
		t.Errorf("an event without a time: %+v", w)
	}
}

func TestTimeline(t *testing.T) {
	at := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	tl := NewTimeline([]detect.PastPoll{{Begun: at.Add(30 * time.Second), Error: "gone"}, {Begun: at.Add(20 * time.Second), Found: 2, LongestWait: 5 * time.Second}, {Begun: at, Gap: true}}, at.Add(time.Minute))
	if tl.Text != "3 polls since 2026-11-28 12:00:00 UTC, 1 failed, 2 posts found" || tl.Top != "5\u00a0s" ||
		tl.Bars[0] != (Bar{"fbad", "298.5", "0.0", "3", "100.0"}) || tl.Bars[1] != (Bar{"f0", "199.0", "0.0", "3", "100.0"}) || tl.Bars[2] != (Bar{"f1", "0.0", "96.0", "3", "4.0"}) {
		t.Errorf("timeline %+v", tl)
	}
	if tl := NewTimeline(nil, at); len(tl.Bars) != 0 {
		t.Errorf("a timeline of nothing: %+v", tl)
	}
}
