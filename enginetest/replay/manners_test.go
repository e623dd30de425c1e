package replay_test

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/replay"
	"github.com/streamwatch/streamwatch/fetcher"
)

func TestReplayManners(t *testing.T) {
	a := every(time.Hour, time.Minute, time.Minute)
	q := fetcher.TimelineQuery{Username: "account0001"}
	t.Run("latency", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := replay.New(replay.Config{Arrivals: a, Speed: 10, MinLatency: 200 * time.Millisecond, MaxLatency: 800 * time.Millisecond})
			var sum time.Duration
			for range 1000 {
				begun := time.Now()
				timeline(t, r, q)
				took := time.Since(begun)
				sum += took
				if took < 20*time.Millisecond || took > 80*time.Millisecond {
					t.Fatalf("took %s, want 20ms to 80ms at speed 10", took)
				}
			}
			if mean := sum / 1000; mean < 48*time.Millisecond || mean > 52*time.Millisecond {
				t.Errorf("mean latency %s, want about 50ms", mean)
			}
		})
	})
	t.Run("errors", func(t *testing.T) {
		failed := func(seed uint64) (when []int) {
			r := replay.New(replay.Config{Arrivals: a, ErrorShare: 0.1, Seed: seed})
			for n := range 1000 {
				var se *fetcher.StatusError
				if _, err := r.Timeline(t.Context(), q); errors.As(err, &se) && se.Code == 503 {
					when = append(when, n)
				} else if err != nil {
					t.Fatal(err)
				}
			}
			if r.Calls() != 1000 || r.Polls()[0] != 1000-len(when) {
				t.Errorf("%d calls, %d polls, want 1000, and those that did not fail", r.Calls(), r.Polls()[0])
			}
			return when
		}
		first := failed(1)
		if len(first) < 70 || len(first) > 130 {
			t.Errorf("%d of 1000 calls failed, want about 100", len(first))
		}
		if !slices.Equal(first, failed(1)) || slices.Equal(first, failed(2)) {
			t.Error("the seed does not decide which calls fail")
		}
	})
	t.Run("rate limit", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := replay.New(replay.Config{Arrivals: a, Speed: 60, RateLimit: 2, RateWindow: time.Minute})
			reset := time.Now().Add(time.Second)
			for n := range 2 {
				want := fetcher.RateLimit{Known: true, Limit: 2, Remaining: 1 - n, Reset: reset}
				if got := timeline(t, r, q).RateLimit; got != want {
					t.Errorf("call %d: %+v, want %+v", n, got, want)
				}
			}
			<-time.After(300 * time.Millisecond)
			var rl *fetcher.RateLimitError
			if _, err := r.Timeline(t.Context(), q); !errors.As(err, &rl) || rl.RetryAfter != 700*time.Millisecond {
				t.Errorf("error %v, want to be told to wait 700ms", err)
			}
			<-time.After(rl.RetryAfter)
			timeline(t, r, q)
		})
	})
	t.Run("the context ends", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := replay.New(replay.Config{Arrivals: a, MinLatency: time.Minute})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := r.Timeline(ctx, q); !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("error %v, want the deadline", err)
			}
		})
	})
	t.Run("who is not there", func(t *testing.T) {
		r := replay.New(replay.Config{Arrivals: a})
		for _, q := range []fetcher.TimelineQuery{
			{}, {Username: "nasa"}, {Username: "account0003"}, {Username: "account1"}, {Username: "account0000"},
			{UserID: "100003"}, {UserID: "1"}, {Username: "account0001", UserID: "x"},
		} {
			if _, err := r.Timeline(t.Context(), q); !errors.Is(err, fetcher.ErrNotFound) {
				t.Errorf("%q, id %q: error %v, want not found", q.Username, q.UserID, err)
			}
		}
		if _, err := r.Timeline(t.Context(), fetcher.TimelineQuery{Username: "account0001", Cursor: "x"}); err == nil || !strings.Contains(err.Error(), `Cursor "x"`) {
			t.Errorf("error %v, want one about the cursor", err)
		}
	})
}

func TestReplayCounts(t *testing.T) {
	a := every(time.Hour, time.Minute, time.Minute, time.Minute)
	synctest.Test(t, func(t *testing.T) {
		r := replay.New(replay.Config{Arrivals: a, Speed: 2, PageSize: 1})
		// In minutes as played: polls, and after each the longest gap recorded.
		for _, step := range []struct {
			wait    time.Duration
			account string
			gap     time.Duration
		}{
			{1, "account0001", 2},
			{0, "account0002", 2},
			{0, "account0003", 2},
			{3, "account0001", 8 - 2}, // 0002 and 0003 have waited as long
			{1, "account0002", 8},
			{4, "account0003", 16},
		} {
			<-time.After(step.wait * time.Minute)
			timeline(t, r, fetcher.TimelineQuery{Username: step.account})
			if got := r.LongestGap(); got != step.gap*time.Minute {
				t.Errorf("after %s: longest gap %s, want %dm", step.account, got, step.gap)
			}
		}
		page := timeline(t, r, fetcher.TimelineQuery{Username: "account0001"})
		timeline(t, r, fetcher.TimelineQuery{Username: "account0001", Cursor: page.Next})
		if calls, polls := r.Calls(), r.Polls(); calls != 8 || !slices.Equal(polls, []int{3, 2, 2}) {
			t.Errorf("%d calls, polls %v, want 8, and further pages not counted", calls, polls)
		}
	})
}

func TestBatch(t *testing.T) {
	a := every(time.Hour, time.Minute, 2*time.Minute)
	synctest.Test(t, func(t *testing.T) {
		r := replay.New(replay.Config{Arrivals: a, MinLatency: time.Second, RateLimit: 1})
		batch := replay.Batch{Replay: r}
		if pages, err := batch.Timelines(t.Context(), nil); err != nil || len(pages) != 0 || r.Calls() != 0 {
			t.Errorf("nothing asked: %v, %v, %d calls", pages, err, r.Calls())
		}
		begun := time.Now()
		<-time.After(4 * time.Minute)
		qs := []fetcher.TimelineQuery{{Username: "account0002"}, {Username: "account0001", Limit: 1}}
		pages, err := batch.Timelines(t.Context(), qs)
		if err != nil || len(pages) != 2 || numbers(pages[0]) != "2 1" || numbers(pages[1]) != "4" {
			t.Errorf("pages %v, error %v", pages, err)
		}
		if took := time.Since(begun); took != 4*time.Minute+time.Second || r.Calls() != 1 || !slices.Equal(r.Polls(), []int{1, 1}) {
			t.Errorf("took %s, %d calls, polls %v: want one call of a second", took, r.Calls(), r.Polls())
		}
		var rl *fetcher.RateLimitError
		if pages, err := batch.Timelines(t.Context(), qs); !errors.As(err, &rl) || pages != nil {
			t.Errorf("over the limit: %v, %v", pages, err)
		}
		if _, err := batch.Timelines(t.Context(), append(qs, fetcher.TimelineQuery{Username: "nasa"})); !errors.Is(err, fetcher.ErrNotFound) {
			t.Errorf("one that is not there: error %v", err)
		}
	})
}

// Readers at the same time: for the race detector, and that nothing is counted
// twice or lost.
func TestReplayConcurrentUse(t *testing.T) {
	a := every(time.Minute, 10*time.Millisecond, time.Second, time.Second)
	r := replay.New(replay.Config{Arrivals: a, Start: time.Now().Add(-time.Second), Speed: 60, LateShare: 0.5, RateLimit: 1_000_000})
	var readers sync.WaitGroup
	for n := range 8 {
		readers.Go(func() {
			for range 100 {
				if _, err := r.Timeline(context.Background(), fetcher.TimelineQuery{UserID: strconv.Itoa(100_001 + n%3)}); err != nil {
					t.Error(err)
				}
				r.LongestGap()
			}
		})
	}
	readers.Wait()
	if calls, polls := r.Calls(), r.Polls(); calls != 800 || !slices.Equal(polls, []int{300, 300, 200}) {
		t.Errorf("%d calls, polls %v", calls, polls)
	}
}
