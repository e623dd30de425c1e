package forecast_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/detect/internal/forecast"
	"github.com/streamwatch/streamwatch/internal/pace"
)

const postADay = 1.0 / 86_400

// accounts are so many that each post once a day.
func accounts(n int, every time.Duration) []pace.Group {
	return []pace.Group{{Accounts: n, Rate: postADay, Interval: every}}
}

func TestPlanAsThingsAre(t *testing.T) {
	plain := forecast.Settings{Batch: 1, Shards: 1, Pages: 1, MinBound: 100 * time.Millisecond}
	with := func(change func(*forecast.Settings)) forecast.Settings {
		s := plain
		change(&s)
		return s
	}
	for name, row := range map[string]struct {
		settings forecast.Settings
		groups   []pace.Group
		searches float64
		want     forecast.Plan
	}{
		"a post waits half an interval in the mean": {plain, accounts(100, time.Minute), 0,
			forecast.Plan{Mean: 30 * time.Second, P95: 57 * time.Second, CallsPerMinute: 100, LongestInterval: time.Minute, Feasible: true}},
		"and as long as a call takes": {with(func(s *forecast.Settings) { s.Fetch = 250 * time.Millisecond }), accounts(100, time.Minute), 0,
			forecast.Plan{Mean: 30250 * time.Millisecond, P95: 57250 * time.Millisecond, CallsPerMinute: 100, LongestInterval: time.Minute, Feasible: true}},
		"each page is a call": {with(func(s *forecast.Settings) { s.Pages = 1.5 }), accounts(100, time.Minute), 0,
			forecast.Plan{Mean: 30 * time.Second, P95: 57 * time.Second, CallsPerMinute: 150, LongestInterval: time.Minute, Feasible: true}},
		"ten accounts share a call, but for the second pages": {with(func(s *forecast.Settings) { s.Batch, s.Pages = 10, 1.5 }), accounts(100, time.Minute), 0,
			forecast.Plan{Mean: 30 * time.Second, P95: 57 * time.Second, CallsPerMinute: 60, LongestInterval: time.Minute, Feasible: true}},
		"few accounts are due together": {with(func(s *forecast.Settings) { s.Batch = 10 }), accounts(10, time.Minute), 0,
			forecast.Plan{Mean: 30 * time.Second, P95: 57 * time.Second, CallsPerMinute: 5, LongestInterval: time.Minute, Feasible: true}},
		"searches are added": {plain, accounts(100, time.Minute), 0.5,
			forecast.Plan{Mean: 30 * time.Second, P95: 57 * time.Second, CallsPerMinute: 130, LongestInterval: time.Minute, Feasible: true}},
		"a rate that is too small makes all polls late": {with(func(s *forecast.Settings) { s.Rate = 1 }), accounts(100, time.Minute), 0,
			forecast.Plan{Mean: 50 * time.Second, P95: 95 * time.Second, CallsPerMinute: 60, LongestInterval: 100 * time.Second, Shortfall: 40}},
		"searches take of the rate": {with(func(s *forecast.Settings) { s.Rate = 2 }), accounts(100, time.Minute), 1,
			forecast.Plan{Mean: 50 * time.Second, P95: 95 * time.Second, CallsPerMinute: 120, LongestInterval: 100 * time.Second, Shortfall: 40}},
		"but half of it at most": {with(func(s *forecast.Settings) { s.Rate = 2 }), accounts(100, time.Minute), 1.9,
			forecast.Plan{Mean: 50 * time.Second, P95: 95 * time.Second, CallsPerMinute: 174, LongestInterval: 100 * time.Second, Shortfall: 40}},
		"a small rate fills shared calls": {with(func(s *forecast.Settings) { s.Rate, s.Batch, s.Shards = 0.2, 10, 100 }), accounts(100, time.Minute), 0,
			forecast.Plan{Mean: 30 * time.Second, P95: 57 * time.Second, CallsPerMinute: 12, LongestInterval: time.Minute, Feasible: true}},
		"a budget is spent on all": {with(func(s *forecast.Settings) { s.Rate, s.Budgeted = 1, true }), accounts(100, 0), 0,
			forecast.Plan{Budget: 1, Mean: 50 * time.Second, P95: 95 * time.Second, CallsPerMinute: 60, LongestInterval: 100 * time.Second, Feasible: true}},
		"where an interval is the longest time": {with(func(s *forecast.Settings) { s.Rate, s.Budgeted = 1, true }), accounts(100, time.Minute), 0,
			forecast.Plan{Budget: 1, Mean: 50 * time.Second, P95: 95 * time.Second, CallsPerMinute: 60, LongestInterval: 100 * time.Second, Shortfall: 40}},
		"and searches take of it": {with(func(s *forecast.Settings) { s.Rate, s.Budgeted = 1.5, true }), accounts(100, 0), 0.5,
			forecast.Plan{Budget: 1.5, Mean: 50 * time.Second, P95: 95 * time.Second, CallsPerMinute: 90, LongestInterval: 100 * time.Second, Feasible: true}},
		"calls are missing for each page": {with(func(s *forecast.Settings) { s.Rate, s.Budgeted, s.Pages = 1, true, 2 }), accounts(100, time.Minute), 0,
			forecast.Plan{Budget: 1, Mean: 100 * time.Second, P95: 190 * time.Second, CallsPerMinute: 60, LongestInterval: 200 * time.Second, Shortfall: 140}},
		"no interval is shorter than allowed": {with(func(s *forecast.Settings) { s.Rate, s.Budgeted, s.MinBound = 5, true, time.Second }), accounts(10, 100*time.Millisecond), 0,
			forecast.Plan{Budget: 5, Mean: time.Second, P95: 1900 * time.Millisecond, CallsPerMinute: 300, LongestInterval: 2 * time.Second, Shortfall: 300}},
		"or the shortest": {with(func(s *forecast.Settings) { s.Rate, s.Budgeted, s.AtLeast = 10, true, true }), accounts(100, time.Minute), 0,
			forecast.Plan{Budget: 10, Mean: 30 * time.Second, P95: 57 * time.Second, CallsPerMinute: 100, LongestInterval: time.Minute, Feasible: true}},
	} {
		t.Run(name, func(t *testing.T) {
			got, other, err := row.settings.Plans(row.groups, row.searches, nil)
			if err != nil || len(other) != 0 {
				t.Fatalf("other plans %v, error %v, want none", other, err)
			}
			check(t, got, row.want)
		})
	}
}

func check(t *testing.T, got, want forecast.Plan) {
	t.Helper()
	near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Abs(b)+1e-9 }
	if !near(got.Budget, want.Budget) || !near(got.Mean.Seconds(), want.Mean.Seconds()) || !near(got.P95.Seconds(), want.P95.Seconds()) ||
		!near(got.CallsPerMinute, want.CallsPerMinute) || !near(got.LongestInterval.Seconds(), want.LongestInterval.Seconds()) ||
		!near(got.Shortfall, want.Shortfall) || got.Feasible != want.Feasible {
		t.Errorf("plan\n%+v, want\n%+v", got, want)
	}
}

// Each other budget has its plan, in order, whatever sets the pace now.
func TestPlansOfOtherBudgets(t *testing.T) {
	s := forecast.Settings{Batch: 1, Shards: 1, Pages: 1, MinBound: time.Second}
	_, other, err := s.Plans(accounts(100, 0), 0.5, []float64{2.5, 1.5, 0.5})
	if err != nil || len(other) != 3 {
		t.Fatalf("plans %v, error %v, want three", other, err)
	}
	for i, perSecond := range []float64{2, 1, 0.25} { // what the searches leave
		share := time.Duration(100 / perSecond * float64(time.Second))
		check(t, other[i], forecast.Plan{Budget: []float64{2.5, 1.5, 0.5}[i], Mean: share / 2, P95: share * 95 / 100,
			CallsPerMinute: 60 * (perSecond + 0.5), LongestInterval: share, Feasible: true})
	}
	for _, bad := range []float64{0, -1, 1e6 + 1, math.NaN(), math.Inf(1)} {
		_, _, err := s.Plans(accounts(100, 0), 0, []float64{1, bad})
		if want := fmt.Sprintf("detect: budgets[1] %v is not allowed: want", bad); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
