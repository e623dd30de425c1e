package schedule

import (
	"log/slog"
	"slices"
	"testing"
	"time"
)

// posted is a poll that found one post, made just before its end.
type posted struct{ quiet }

func (posted) FoundTimes(now int64) []int64 { return []int64{now - second} }

// restarted is a schedule of so many accounts, 5 polls a second, that was restarted at 0
// and has polled for ten minutes. Account 0 has an interval of a minute and posts after
// every poll.
func restarted(t *testing.T, accounts int32) *ByBudget {
	t.Helper()
	s, err := NewByBudget(fixed(0), BudgetConfig{PollRate: func() float64 { return 5 }, MinBackoff: time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	for slot := range accounts {
		ask := Ask{Weight: 1, Owner: "old"}
		if slot == 0 {
			ask.Interval = time.Minute
		}
		s.Set(slot, 0, ask, Spread)
	}
	pollUntil(s, 0, 600*second, -1)
	return s
}

// pollUntil polls 5 times a second from one time until another, or until it comes to an
// account. It returns when that was, or -1.
func pollUntil(s *ByBudget, from, until int64, account int32) int64 {
	for now := from; now < until; now += second / 5 {
		due, ok := s.Next(now, false)
		switch {
		case !ok:
			continue
		case due.Slot == account:
			return now
		case due.Slot == 0:
			s.Done(0, now, posted{}, false)
		default:
			s.Done(due.Slot, now, quiet(0), false)
		}
	}
	return -1
}

// Ten minutes after a restart, when most accounts wait for their first poll, one that is to
// be polled at once does not wait behind them.
func TestAtOnceAfterARestart(t *testing.T) {
	const accounts, start = 10_000, 600 * second
	again := Ask{Weight: 2, Interval: time.Minute, Owner: "old"}
	for _, tc := range []struct {
		name    string
		do      func(s *ByBudget)
		account int32
		within  int64
	}{
		{"nothing", func(s *ByBudget) {}, 0, 60 * second},
		{"second monitor", func(s *ByBudget) { s.Set(0, start, again, AtOnce) }, 0, second},
		{"alarm", func(s *ByBudget) { s.Put(0, start, Alarmed) }, 0, second},
		{"hurry, then alarm", func(s *ByBudget) { s.Put(0, start, Hurried); s.Put(0, start, Alarmed) }, 0, second},
		{"alarm of one that is hurried and waits", func(s *ByBudget) {
			for slot := range int32(1000) {
				s.Put(accounts-1-slot, start, Hurried)
			}
			s.Put(accounts-1000, start, Alarmed)
		}, accounts - 1000, second},
		{"alarm, then a call that fails", func(s *ByBudget) {
			s.Put(0, start, Alarmed)
			s.Next(start, false)
			s.Put(0, start+second, Rested)
		}, 0, 2 * second},
		{"hurry, then a call that fails", func(s *ByBudget) {
			s.Put(0, start, Hurried)
			s.Next(start, false)
			s.Put(0, start+second, Rested)
		}, 0, 2 * second},
		{"new account", func(s *ByBudget) {
			s.Set(accounts, start, Ask{Weight: 1, Owner: "new"}, AtOnce)
		}, accounts, 2 * second},
		{"new account, while another owner joins many", func(s *ByBudget) {
			for slot := range int32(5000) {
				s.Set(slot, start, Ask{Weight: 2, Owner: "old"}, AtOnce)
			}
			s.Set(accounts, start, Ask{Weight: 1, Owner: "new"}, AtOnce)
		}, accounts, 2 * second},
		{"account taken from another node, not polled for an hour", func(s *ByBudget) {
			s.Set(accounts, start, Ask{Weight: 1, Owner: "new", Missed: time.Hour}, Spread)
		}, accounts, 2 * second},
		{"subscriber during a poll", func(s *ByBudget) {
			s.Put(0, start, Alarmed)
			s.Next(start, false)
			s.Done(0, start, posted{}, true)
		}, 0, 2 * second},
	} {
		s := restarted(t, accounts)
		tc.do(s)
		if at := pollUntil(s, start, start+6000*second, tc.account); at < 0 || at > start+tc.within {
			t.Errorf("%s: polled after %d s, want %d at most", tc.name, (at-start)/second, tc.within/second)
		}
	}
}

// While an owner adds many accounts, one that another adds goes first, and those that
// another adds together do not wait for the many.
func TestManyAddedAccountsDelayNoOtherOwner(t *testing.T) {
	const accounts, start, end, many = 10_000, 600 * second, 1200 * second, 5000
	s := restarted(t, accounts)
	next := int32(accounts)
	add := func(n int32, now int64, owner string) {
		for range n {
			s.Set(next, now, Ask{Weight: 1, Owner: owner}, AtOnce)
			next++
		}
	}
	add(many, start, "many")
	by := map[int32]int64{} // when an account is to be polled at the latest
	for now := start; now < end; now += second / 5 {
		switch {
		case now == start+300*second:
			add(20, now, "some")
			for slot := next - 20; slot < next; slot++ {
				by[slot] = now + 100*second
			}
		case now%(10*second) == 0:
			add(1, now, "few")
			by[next-1] = now + 3*second
		}
		if due, ok := s.Next(now, false); ok {
			if at, ok := by[due.Slot]; ok && now > at {
				t.Errorf("%d s after many were added, account %d of another owner is polled %d s too late", (now-start)/second, due.Slot, (now-at)/second)
			}
			delete(by, due.Slot)
			s.Done(due.Slot, now, quiet(0), false)
		}
	}
	for slot, at := range by {
		if at < end {
			t.Errorf("account %d of another owner is not polled", slot)
		}
	}
}

// While calls are saved, an account is polled when it is due, and ahead of that only from
// when on the call would be lost; never while it rests.
func TestSavedCallsWait(t *testing.T) {
	const never = int64(1 << 62)
	lost := int64(0)
	s, err := NewByBudget(fixed(0), BudgetConfig{PollRate: func() float64 { return 0.01 }, LostFrom: func(int64) int64 { return lost },
		MinBackoff: time.Second, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, now, want int64) {
		t.Helper()
		if at, ok := s.NextAt(now); !ok || max(at, now) != want {
			t.Errorf("%s: due at %d s, %v, want %d", what, at/second, ok, want/second)
		}
	}
	if at, ok := s.NextAt(0); ok {
		t.Errorf("due at %d without an account", at)
	}
	const start = 1000 * second
	s.Set(1, start, Ask{Weight: 1}, AtOnce)
	lost = never
	check("new account", start, start)
	s.Next(start, false)
	if at, ok := s.NextAt(start); ok {
		t.Errorf("due at %d while the only account is polled", at)
	}
	s.Done(1, start, quiet(0), false)
	plan, _ := s.pacer.DueAt(start + 2*second) // its rest is over
	if plan < start+20*second {
		t.Fatalf("planned for %d s", plan/second)
	}
	check("calls are saved", start+second, plan)
	lost = start + 5*second
	check("calls are lost later", start+second, lost)
	check("calls are lost now", start+6*second, start+6*second)
	s.Next(start+6*second, false)
	s.Put(1, start+9*second, Rested)
	check("it rests", start+6*second, start+9*second)
	lost = never
	check("it has rested, and waits for its plan", start+10*second, plan)
	s.Put(1, start+12*second, Alarmed)
	check("alarmed", start+12*second, start+12*second)
}

// While accounts wait for their first poll as many are polled as where no call is saved, and
// none of the calls that were saved is spent for it.
func TestFirstPollsKeepToTheBudget(t *testing.T) {
	const rate, old, added = 2, 100, 50
	// first adds accounts, twice, and returns after how many polls and seconds none waits.
	first := func(lostFrom func(int64) int64) (polls [2]int, took [2]int64) {
		s, err := NewByBudget(fixed(0), BudgetConfig{PollRate: func() float64 { return rate }, LostFrom: lostFrom, MinBackoff: time.Second, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		now, slot := 1000*second, int32(0)
		pollOne := func() int32 {
			due, _ := s.Next(now, false)
			s.Done(due.Slot, now, quiet(0), false)
			return due.Slot
		}
		for i, n := range []int32{old, added} {
			waiting, began := map[int32]bool{}, now
			for range n {
				waiting[slot] = true
				s.Set(slot, now, Ask{Weight: 1}, AtOnce)
				slot++
			}
			for bucket := 1.0; len(waiting) > 0; now += second / 10 {
				for at, ok := s.NextAt(now); ok && at <= now && (lostFrom != nil || bucket >= 1); at, ok = s.NextAt(now) {
					delete(waiting, pollOne())
					polls[i]++
					bucket--
				}
				bucket = min(1, bucket+rate/10.)
			}
			took[i] = now - began
			now += 600 * second // what was planned is long past: all are polled
			for range slot {
				pollOne()
			}
		}
		return polls, took
	}
	polls, took := first(nil)
	saved, savedTook := first(func(int64) int64 { return 1 << 62 })
	for i := range polls {
		if most := int(savedTook[i]*rate/second) + 1; saved[i] > most {
			t.Errorf("accounts added the %d. time: %d polls in %d s, want %d at most", i+1, saved[i], savedTook[i]/second, most)
		}
		if saved[i] > polls[i]+polls[i]/10 || savedTook[i] > took[i]+took[i]/10 {
			t.Errorf("accounts added the %d. time: %d polls in %d s, want %d in %d s", i+1, saved[i], savedTook[i]/second, polls[i], took[i]/second)
		}
	}
}

// When a stream is not trusted any more, all accounts that were audited are polled again
// within their longest intervals, also those whose audit was not long ago.
func TestAuditsEnd(t *testing.T) {
	const accounts, rate = 1000, 5
	for _, interval := range []time.Duration{0, 5 * time.Minute} {
		s, err := NewByBudget(fixed(0), BudgetConfig{PollRate: func() float64 { return rate }, MinBackoff: time.Second, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		last := make([]int64, accounts)
		now := int64(0)
		setAll := func(ask Ask, first First) {
			for slot := range int32(accounts) {
				s.Set(slot, now, ask, first)
			}
		}
		run := func(d int64) {
			for end := now + d; now < end; now += second / rate {
				if at, ok := s.NextAt(now); !ok || at > now {
					continue
				}
				if due, ok := s.Next(now, false); ok {
					last[due.Slot] = now
					s.Done(due.Slot, now, quiet(0), false)
				}
			}
		}
		setAll(Ask{Weight: 1, Interval: interval}, Spread)
		run(1000 * second)
		setAll(Ask{Weight: 1, Interval: 30 * time.Minute, Audited: true}, Anew) // it is trusted
		run(7500 * second)
		setAll(Ask{Weight: 1, Interval: interval}, Anew)
		run(600 * second) // the longest interval without one is 440 s
		if oldest := slices.Min(last); now-oldest > 600*second {
			t.Errorf("interval %s: 10 minutes after the end of audits an account was polled %d s ago", interval, (now-oldest)/second)
		}
	}
}
