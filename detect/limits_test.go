package detect

import (
	"fmt"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

func TestRetryAfterOfATargetIsHonoured(t *testing.T) {
	for name, err := range map[string]error{
		"429 for the target":   &fetcher.RateLimitError{RetryAfter: 2 * time.Minute, Target: true},
		"503 with Retry-After": &fetcher.StatusError{Code: 503, RetryAfter: 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				w.setBefore(func(q fetcher.TimelineQuery, n int) (*fetcher.Page, error) {
					if q.Username == "nasa" && n <= 2 {
						return nil, err
					}
					return nil, nil
				})
				d := w.detector(t, nil)
				defer start(t, d)()
				set(t, d, sub("m", "nasa"))
				after(time.Millisecond)
				set(t, d, sub("n", "esa"))
				after(10 * time.Minute)
				at := w.callTimes("nasa")
				if gap := at[1].Sub(at[0]); gap < 2*time.Minute || gap > 133*time.Second {
					t.Errorf("polled again after %s, want 2 min and a little", gap)
				}
				if n := len(w.callTimes("esa")); n < 55 {
					t.Errorf("the other account was polled %d times in 10 min, want about 60", n)
				}
			})
		})
	}
}

// However many processors there are: shards that have few accounts would poll them more often.
func TestPollsThatWaitForTheRateTakeTurns(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(c *settings) { c.Shards, c.FetchRate, c.FetchBurst = 0, 2, 4 })
		defer start(t, d)()
		var names []string
		for i := range 60 {
			names = append(names, fmt.Sprintf("a%d", i))
		}
		set(t, d, sub("m", names...)) // 6 polls a second are wished for
		after(5*time.Minute + time.Second)
		if n := len(w.calls); n > 2*301+4 {
			t.Errorf("%d calls in 301 s, want at most 606", n)
		}
		for _, name := range names {
			if n := len(w.callTimes(name)); n < 10 || n > 11 {
				t.Errorf("%s was polled %d times, want 10 or 11", name, n)
			}
		}
	})
}

func TestSlotsBoundCallsUnderWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		w.setSlow(time.Second)
		d := w.detector(t, func(c *settings) { c.FetchSlots = 5 })
		defer start(t, d)()
		var names []string
		for i := range 40 {
			names = append(names, fmt.Sprintf("a%d", i))
		}
		set(t, d, sub("m", names...))
		after(time.Minute)
		if w.most != 5 {
			t.Errorf("%d calls under way at once, want 5", w.most)
		}
	})
}

// A platform that lets a call through now and then, and says of no refusal how long to wait, has its
// bucket closed for seconds, whatever the failures of the one account that meets it.
func TestRefusalsWithoutRetryAfter(t *testing.T) {
	if testing.Short() {
		t.Skip("hours of virtual time")
	}
	for _, named := range []bool{false, true} {
		t.Run(fmt.Sprintf("named bucket %v", named), func(t *testing.T) {
			// Some refusals in a row close it for longer in one half hour of a few hundred: the medians count.
			var longest [3]time.Duration
			var found [3]int
			for i := range longest {
				synctest.Test(t, func(t *testing.T) { longest[i], found[i] = refusedHalfHour(t, named) })
			}
			slices.Sort(longest[:])
			slices.Sort(found[:])
			if m := longest[1]; m == 0 || m > time.Minute {
				t.Errorf("closed for up to %s, want some seconds", longest)
			}
			if found[1] < 100 {
				t.Errorf("%d polls in half an hour, want hundreds", found)
			}
		})
	}
}

// refusedHalfHour returns for how long a bucket of nine accounts was closed at most, and how many polls
// succeeded. The platform lets a call through every 3 s, and none of one account.
func refusedHalfHour(t *testing.T, named bool) (longest time.Duration, found int) {
	w := newWorld()
	var last time.Time // when a call was let through
	w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if q.Username == "unlucky@one" || time.Since(last) < 3*time.Second {
			return nil, &fetcher.RateLimitError{}
		}
		last = time.Now()
		return nil, nil
	})
	d := w.detector(t, func(s *settings) {
		if s.Shards = 1; named {
			s.Roles.Buckets = hosts{}
		}
	})
	defer start(t, d)()
	names := []string{"unlucky@one"}
	for i := range 8 {
		names = append(names, fmt.Sprintf("a%d@one", i))
	}
	set(t, d, sub("m", names...))
	for range 30 * 60 {
		after(time.Second)
		for _, until := range d.Stats().Closed {
			longest = max(longest, time.Until(until))
		}
	}
	s := d.Stats()
	return longest, int(s.Polls - s.PollErrors)
}
