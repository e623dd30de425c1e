package detect

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// A Fetcher that ends the goroutine it is called on, as t.FailNow does, has failed,
// and there is another goroutine for the next call.
func TestFetcherEndsItsGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		names := accounts(100)
		d := w.detector(t, func(c *Config) { c.Shards = 1 })
		stop := start(t, d)
		set(t, d, sub("m", names...))
		after(30 * time.Second)
		var mu sync.Mutex
		ended := map[string]bool{}
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			mu.Lock()
			defer mu.Unlock()
			if !ended[q.Username] {
				ended[q.Username] = true
				runtime.Goexit()
			}
			return nil, nil
		})
		after(time.Minute)
		w.setBefore(nil)
		w.setSlow(5 * time.Second)
		after(30 * time.Second)
		for _, name := range names {
			if at := w.callTimes(name); time.Since(at[len(at)-1]) > 11*time.Second {
				t.Errorf("%s was polled last at %v, want it within an interval before %v", name, at[len(at)-1], time.Now())
			}
		}
		stop()
		if n := d.Stats().PollErrors; n != 100 {
			t.Errorf("%d polls failed, want 100", n)
		}
	})
}

// The same in calls for several accounts, and for queries.
func TestFetcherEndsTheGoroutineOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		var ended atomic.Bool
		b.answer = func(_ []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) {
			if !ended.Swap(true) {
				runtime.Goexit()
			}
			return pages, nil
		}
		d := batchDetector(t, b, nil)
		stop := start(t, d)
		set(t, d, sub("m", accounts(10)...))
		after(time.Minute)
		for _, name := range accounts(10) {
			if st, _, err := d.Account(t.Context(), name); err != nil || time.Since(st.LastPoll) > 12*time.Second {
				t.Errorf("%s: last poll %v before %v, error %v, want it within an interval", name, st.LastPoll, time.Now(), err)
			}
		}
		stop()
	})
}
