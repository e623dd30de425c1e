package schedule

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// fixed are accounts with one interval.
type fixed time.Duration

func (f fixed) Interval(int32) time.Duration { return time.Duration(f) }
func (f fixed) Hash(slot int32) uint64       { return uint64(slot) }
func (f fixed) Username(int32) string        { return "nasa" }

// quiet is a poll that found nothing.
type quiet int64

func (q quiet) Due() (int64, uint64)                 { return int64(q), 7 }
func (q quiet) FoundTimes(int64) []int64             { return nil }
func (q quiet) History(int64) ([]int64, int64, bool) { return nil, 0, false }

const second = int64(time.Second)

// What has an account polled, and when, by either schedule.
func TestWhenAnAccountIsPolled(t *testing.T) {
	const never = -1
	for name, row := range map[string]struct {
		do               func(s Schedule)
		interval, budget int64 // when account 7 is due, in seconds
	}{
		"one that is new":            {func(s Schedule) { s.Set(7, 0, Ask{Interval: time.Minute, Weight: 1}, AtOnce) }, 0, 0},
		"one that waits for a turn":  {func(s Schedule) { s.Set(7, 30*second, Ask{Interval: time.Minute, Weight: 1}, Spread) }, 60, 30},
		"one that is put in and out": {func(s Schedule) { s.Set(7, 0, Ask{Interval: time.Minute, Weight: 1}, AtOnce); s.Remove(7) }, never, never},
		"one that failed": {func(s Schedule) {
			s.Set(7, 0, Ask{Interval: time.Minute, Weight: 1}, AtOnce)
			s.Next(0, false)
			s.Put(7, 90*second, Rested)
		}, 90, 90},
		"one that is being polled": {func(s Schedule) {
			s.Set(7, 0, Ask{Interval: time.Minute, Weight: 1}, AtOnce)
			s.Next(0, false)
			s.Set(7, 0, Ask{Interval: time.Second, Weight: 1}, Planned)
		}, never, never},
		"one that was polled early": {func(s Schedule) {
			s.Set(7, 0, Ask{Interval: time.Minute, Weight: 1}, AtOnce)
			s.Next(0, false)
			s.Done(7, 57*second, quiet(60*second+7), false)
		}, 120, 117},
		"one that somebody joined during its poll": {func(s Schedule) {
			s.Set(7, 0, Ask{Interval: time.Minute, Weight: 1}, AtOnce)
			s.Next(0, false)
			s.Done(7, 10*second, quiet(0), true)
		}, 10, 10},
		"one that is asked for differently": {func(s Schedule) {
			s.Set(7, 0, Ask{Interval: time.Minute, Weight: 1}, AtOnce)
			s.Next(0, false)
			s.Done(7, 10*second, quiet(0), false)
			s.Set(7, 12*second, Ask{Interval: time.Minute, Weight: 1}, Changed)
		}, 12, 70},
	} {
		budget, err := NewByBudget(fixed(time.Minute), BudgetConfig{PollRate: func() float64 { return 1 }, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		for kind, s := range map[string]Schedule{"interval": NewByInterval(fixed(time.Minute), time.Unix(0, 0)), "budget": budget} {
			row.do(s)
			want := row.interval
			if kind == "budget" {
				want = row.budget
			}
			at, ok := s.NextAt(0)
			if got := at / second; ok != (want != never) || ok && kind == "interval" && got != want || ok && kind == "budget" && got > want {
				t.Errorf("%s, by %s: due at %d s, %v, want %d", name, kind, got, ok, want)
			}
		}
	}
}

// A call takes along an account that is due within a tenth of its interval, and
// no other.
func TestAccountsShareACall(t *testing.T) {
	s := NewByInterval(fixed(time.Minute), time.Unix(0, 0))
	for slot, at := range []int64{0, 5, 7} {
		s.Put(int32(slot), at*second, Rested)
	}
	for i, want := range []struct {
		sharing bool
		slot    int32
		ok      bool
	}{{false, 0, true}, {false, 0, false}, {true, 1, true}, {true, 0, false}} {
		if due, ok := s.Next(0, want.sharing); ok != want.ok || due.Slot != want.slot {
			t.Errorf("%d: %v %v, want account %d, %v", i, due, ok, want.slot, want.ok)
		}
	}
}

// The log is told once when the budget stops sufficing.
func TestBudgetThatDoesNotSuffice(t *testing.T) {
	var log strings.Builder
	rate := 1.0
	s, err := NewByBudget(fixed(time.Second), BudgetConfig{PollRate: func() float64 { return rate }, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	s.Set(0, 0, Ask{Interval: 2 * time.Second, Weight: 1}, AtOnce)
	if log.Len() > 0 {
		t.Errorf("a budget of 1 a second for 0.5: %s", &log)
	}
	for range 3 {
		rate = 0.25
		s.Refresh()
	}
	if n := strings.Count(log.String(), "budget is too small"); n != 1 || s.Budget() != 0.25 || s.Demand() != 0.5 {
		t.Errorf("%d lines about a budget of %v for %v, want 1", n, s.Budget(), s.Demand())
	}
}
