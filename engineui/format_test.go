package engineui

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/billing"
	"github.com/streamwatch/streamwatch/latency"
)

func TestFormats(t *testing.T) {
	for _, row := range []struct{ got, want string }{
		{dur(0), "0"}, {dur(512), "<~0.01~ms"}, {dur(250 * time.Microsecond), "0.25~ms"}, {dur(2449 * time.Microsecond), "2.4~ms"}, {dur(812 * time.Millisecond), "812~ms"},
		{dur(3210 * time.Millisecond), "3.2~s"}, {dur(59960 * time.Millisecond), "1~min"}, {dur(250 * time.Second), "4~min 10~s"}, {dur(2 * time.Minute), "2~min"}, {dur(125 * time.Minute), "2~h 5~min"},
		{dur(100 * time.Hour), "4~d 4~h"}, {dur(-time.Second), "−1.0~s"},
		{about(0), "0"}, {about(8900 * time.Millisecond), "8.0~s"}, {about(250 * time.Second), "4~min"}, {about(-250 * time.Second), "4~min"}, {about(192 * time.Minute), "3~h 12~min"}, {about(26*time.Hour + 4*time.Minute), "26~h"}, {about(100 * time.Hour), "4~d"},
		{num(0), "0"}, {num(999), "999"}, {num(int64(1234567)), "1\u202f234\u202f567"}, {num(-1234), "−1\u202f234"}, {num(uint64(math.MaxUint64)), "18\u202f446\u202f744\u202f073\u202f709\u202f551\u202f615"},
		{figure(0), "0.0"}, {figure(0.12345), "0.12"}, {figure(0.001), "< 0.01"}, {figure(12.345), "12.3"}, {figure(123.45), "123"}, {figure(12345.6), "12\u202f346"},
		{pct(0), "0.0~%"}, {pct(0.0001), "<~0.1~%"}, {pct(0.456), "45.6~%"},
		{credits(0), "0.000"}, {credits(5000), "5.000"}, {credits(5250), "5.250"}, {credits(-5), "−0.005"}, {credits(math.MinInt64), "−9\u202f223\u202f372\u202f036\u202f854\u202f775.808"},
		{credits(1234567 * billing.Credit), "1\u202f234\u202f567.000"},
		{string(soft("a-b_c@d.e/f?g&h:<i>")), "a-<wbr>b_<wbr>c<wbr>@d<wbr>.e<wbr>/f<wbr>?g<wbr>&amp;h:<wbr>&lt;i&gt;"},
		{ordinal(1) + ordinal(2) + ordinal(3) + ordinal(4) + ordinal(11) + ordinal(12) + ordinal(21) + ordinal(111), "1st2nd3rd4th11th12th21st111th"},
		{last(4, "key_abcdef"), "cdef"}, {last(4, "ab"), "ab"},
		{cut(3, "añb"), "añb"}, {cut(3, "añbc"), "añb…"}, {cut(3, ""), ""},
		{clock(time.Time{}), "–"}, {clock(time.Unix(0, 0)), "1970-01-01 00:00:00"},
	} {
		if row.got != strings.ReplaceAll(row.want, "~", "\u00a0") {
			t.Errorf("got %q, want %q", row.got, row.want)
		}
	}
}

// Pictures stay in their boxes, whatever is drawn, and say in words what they show.
func TestCharts(t *testing.T) {
	var h latency.Histogram
	if s := newSpread(newAxis(0), h.Snapshot()); !s.Empty || s.Text != "nothing" {
		t.Errorf("a spread of nothing: %+v", s)
	}
	for range 98 {
		h.Record(10 * time.Millisecond)
	}
	h.Record(time.Second)
	h.Record(100 * time.Hour)
	a := newAxis(10 * time.Second)
	if a.To != 10*time.Second || a.at(0) != 0 || a.at(100*time.Hour) != 100 || a.at(10*time.Millisecond) != 50 {
		t.Errorf("axis %v: 0 at %v, 100 h at %v, 10 ms at %v", a, a.at(0), a.at(100*time.Hour), a.at(10*time.Millisecond))
	}
	if s := newSpread(a, h.Snapshot()); s.X50 != "50.3" || s.X99 != "83.4" || s.Width != "33.0" || s.Text != "p50 10\u00a0ms, p95 10\u00a0ms, p99 1.0\u00a0s" {
		t.Errorf("spread %+v", s)
	}
	st := newStack(latency.Shares([]latency.Cause{{Name: "queue", Mean: time.Second}, {Name: "fetch", Mean: 3 * time.Second}, {Name: "send"}}))
	if st.Text != "queue 25.0\u00a0%, fetch 75.0\u00a0%" || st.Parts[1].X != "25.0" || st.Parts[1].Width != "75.0" || st.Parts[2].Width != "0.0" {
		t.Errorf("stack %+v", st)
	}
	if st := newStack(latency.Shares([]latency.Cause{{Name: "queue"}})); st.Text != "nothing" {
		t.Errorf("a stack of nothing: %+v", st)
	}
	nan := math.NaN()
	l := newLines([]string{"p50", "p95"}, [][]float64{{1, nan, 2, 3, nan}, {nan, nan, nan, nan, 6}}, figure)
	if l.Top != "6.0" || l.Text != "p50 at last 3.0, p95 at last 6.0" || len(l.Lines[0].Points) != 2 || l.Lines[0].Points[1] != "300.0,66.7 450.0,50.0" || l.Lines[1].Points[0] != "600.0,0.0 600.0,0.0" {
		t.Errorf("lines %+v", l)
	}
	if l := newLines([]string{"p50"}, [][]float64{{}}, figure); l.Text != "nothing" || len(l.Lines[0].Points) != 0 {
		t.Errorf("lines of nothing: %+v", l)
	}
}
