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
		names := accountNames(100)
		d := w.detector(t, func(c *settings) { c.Shards = 1 })
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

// A call for several accounts that one of them makes end is made without it then.
func TestFetcherEndsTheGoroutineOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &batchWorld{world: newWorld()}
		names := accountNames(10)
		var together atomic.Int64 // calls for it and others
		b.answer = func(qs []fetcher.TimelineQuery, pages []fetcher.Page) ([]fetcher.Page, error) {
			for _, q := range qs {
				if q.Username == names[3] {
					if len(qs) > 1 {
						together.Add(1)
					}
					runtime.Goexit()
				}
			}
			return pages, nil
		}
		b.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			if q.Username == names[3] {
				runtime.Goexit()
			}
			return nil, nil
		})
		d := batchDetector(t, b, nil)
		stop := start(t, d)
		set(t, d, sub("m", names...))
		after(3 * time.Minute)
		for i, name := range names {
			if i == 3 {
				continue
			}
			if st, _, err := d.Account(t.Context(), name); err != nil || st.LastPoll.IsZero() {
				t.Errorf("%s: last poll %v, error %v, want one", name, st.LastPoll, err)
			}
		}
		stop()
		if n := together.Load(); n != 1 {
			t.Errorf("%s was in %d calls with others, want 1", names[3], n)
		}
	})
}

// A query whose search ends its goroutine is searched for again.
func TestSearcherEndsItsGoroutine(t *testing.T) {
	inQueries(t, nil, func(t *testing.T, w *searchable, d *Detector) {
		ended := 0
		w.setAnswer(func(fetcher.SearchQuery) (*fetcher.Page, error) {
			if ended++; ended == 1 {
				runtime.Goexit()
			}
			return nil, nil
		})
		setQuery(t, d, asks("r", "moon"))
		after(3 * time.Minute)
		if s := d.Stats().Queries; s.Errors != 1 || s.Polls < 3 {
			t.Errorf("%d of %d polls failed, want 1 of several", s.Errors, s.Polls)
		}
	})
}
