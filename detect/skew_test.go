package detect

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// The upstream's clock is compared with ours by answers whose Date is cut to the
// second. What a call takes, before or after the upstream looks at its clock, is
// no difference of clocks.
func TestClocksDiffer(t *testing.T) {
	const ahead, behind = time.Minute, -time.Minute
	for _, tc := range []struct {
		name          string
		before, stall time.Duration // of a call, before and after the answer is dated
		ours          time.Duration // our clock is ahead by
	}{
		{name: "neither stalls nor differs"},
		{name: "the process stalls", stall: 9 * time.Second},
		{name: "the answer is slow", before: 9 * time.Second},
		{name: "both", before: 4 * time.Second, stall: 7 * time.Second},
		{name: "the clock is ahead", ours: ahead},
		{name: "the clock is ahead by three seconds and a bit", ours: 3100 * time.Millisecond},
		{name: "the clock is ahead and the process stalls", ours: ahead, stall: 9 * time.Second},
		{name: "the clock is behind", ours: behind},
		{name: "the clock is behind and the answer slow", ours: behind, before: 9 * time.Second},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				w := newWorld()
				w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
					pg := w.timeline(q)
					<-time.After(tc.before)
					pg.ServerTime = time.Now().Truncate(time.Second)
					<-time.After(tc.stall)
					return &pg, nil
				})
				d := w.detector(t, func(c *settings) {
					c.Logger = slog.New(slog.NewTextHandler(&log, nil))
					c.Now = func() time.Time { return time.Now().Add(tc.ours) }
				})
				stop := start(t, d)
				set(t, d, sub("m", "nasa"))
				after(30 * time.Minute)
				stop()
				s := d.Stats()
				want := 0
				if tc.ours != 0 {
					want = 1
				}
				if n := strings.Count(log.String(), "clocks differ"); n != want || s.SkewedPolls > 0 != (tc.ours != 0) {
					t.Errorf("%d lines say that clocks differ, want %d; %d polls with such clocks\n%s", n, want, s.SkewedPolls, log.String())
				}
				if off := s.ClockSkew - tc.ours; off < -2*time.Second || off > 2*time.Second {
					t.Errorf("mean difference %s, want about %s", s.ClockSkew, tc.ours)
				}
			})
		})
	}
}

// A Date that no clock shows, such as one of the year 9999, says nothing: the posts of the
// answer are found, and no difference of clocks is told.
func TestDateThatNoClockShows(t *testing.T) {
	for name, server := range map[string]time.Time{
		"the year 9999": time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC),
		"the year 1":    time.Date(1, 1, 1, 0, 0, 1, 0, time.UTC),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
					pg := w.timeline(q)
					pg.ServerTime = server
					return &pg, nil
				})
				d := w.detector(t, nil)
				defer start(t, d)()
				set(t, d, sub("m", "nasa"))
				after(time.Minute)
				w.publish("nasa", "1", 0)
				after(time.Minute)
				w.publish("nasa", "2", 0)
				after(time.Minute)
				wantEvents(t, w, "m:1", "m:2")
				if s := d.Stats(); s.ClockSkew != 0 || s.SkewedPolls != 0 {
					t.Errorf("the clocks seem to differ by %s, in %d polls", s.ClockSkew, s.SkewedPolls)
				}
			})
		})
	}
}
