package forecast_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/forecast"
	"github.com/streamwatch/streamwatch/latency"
)

// A plan is compared with what happens in the hour after it, and only with that.
func TestPlanIsComparedAfterAnHour(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var detection latency.Histogram
		var calls, plans atomic.Int64
		c := forecast.Check{Now: time.Now, Logger: slog.New(slog.DiscardHandler),
			Make: func(context.Context) (forecast.Plan, error) {
				return forecast.Plan{Budget: float64(plans.Add(1))}, nil
			},
			Measure: func() (latency.Snapshot, int64) { return detection.Snapshot(), calls.Load() }}
		begun, stop, done := time.Now(), make(chan struct{}), make(chan struct{})
		go func() { c.Run(t.Context(), stop); close(done) }()
		for hour := range 3 {
			detection.Record(time.Hour) // before the first plan, or in the hour that is not asked for
			<-time.After(61 * time.Second)
			if hour == 0 {
				if last, ok := c.Last(); ok || plans.Load() != 1 {
					t.Errorf("%d plans after a minute, compared %+v: want one, and nothing to compare", plans.Load(), last)
				}
			}
			for range 100 {
				detection.Record(time.Duration(hour+1) * 10 * time.Second)
				calls.Add(6)
			}
			<-time.After(time.Hour - 61*time.Second)
		}
		<-time.After(2 * time.Minute)
		last, ok := c.Last()
		if !ok || plans.Load() != 4 || last.Plan.Budget != 3 || !last.From.Equal(begun.Add(2*time.Hour+time.Minute)) || last.To.Sub(last.From) != time.Hour {
			t.Fatalf("compared %+v, %t, of %d plans: want the third, made after 2 h 1 min, with the hour after it", last, ok, plans.Load())
		}
		if last.Posts != 100 || last.CallsPerMinute != 10 || last.Mean < 29*time.Second || last.Mean > 31*time.Second || last.P95 < 29*time.Second || last.P95 > 32*time.Second {
			t.Errorf("what happened is %+v: want 100 posts of 30 s and 10 calls a minute", last)
		}
		close(stop)
		<-done
	})
}

// A plan that fails is logged, its hour is not compared, and the next one has a plan
// again.
func TestFailedPlan(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		plans := 0
		c := forecast.Check{Now: time.Now, Logger: slog.New(slog.NewTextHandler(&log, nil)),
			Make: func(context.Context) (forecast.Plan, error) {
				if plans++; plans%2 == 1 {
					return forecast.Plan{}, errors.New("no groups")
				}
				return forecast.Plan{}, nil
			},
			Measure: func() (latency.Snapshot, int64) { return latency.Snapshot{}, 0 }}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { c.Run(ctx, nil); close(done) }()
		<-time.After(90 * time.Minute)
		if _, ok := c.Last(); ok {
			t.Error("a plan that failed is compared")
		}
		<-time.After(time.Hour)
		first, ok := c.Last()
		if !ok {
			t.Error("the plan after one that failed is not compared")
		}
		<-time.After(time.Hour)
		if last, _ := c.Last(); last != first {
			t.Errorf("compared %+v in an hour without a plan", last)
		}
		synctest.Wait()
		if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, `msg="forecast failed" error="no groups"`) {
			t.Errorf("log %q, want a line for each of two failures", got)
		}
		cancel()
		<-done
	})
}
