package main

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/latency"
)

const (
	endpoints  = 16
	inFlight   = 4                // requests to an endpoint
	backlog    = 2048             // events recorded and not answered yet, at full speed
	drainLimit = 90 * time.Second // for the last answer
	warmUp     = time.Second      // at a rate, whose events are not counted
)

var (
	body   = []byte(`{"event":"tweet.detected","tweet_text":"` + strings.Repeat("x", 1024-42) + `"}`)
	secret = deliver.GenerateSecret()
)

// meter counts what was accepted.
type meter struct {
	took     latency.Histogram
	from     time.Time // events that came before are not counted in took
	done     atomic.Int64
	failed   atomic.Int64
	room     chan struct{} // a place for each event of the backlog
	bounded  bool
	finished chan struct{} // one slot: an answer came
}

func newMeter() *meter {
	return &meter{room: make(chan struct{}, backlog), finished: make(chan struct{}, 1)}
}

// answered records the result for an event that came at a time.
func (m *meter) answered(came time.Time, ok bool) {
	switch {
	case !ok:
		m.failed.Add(1)
	case !came.Before(m.from):
		m.took.Record(time.Since(came))
	}
	m.done.Add(1)
	if m.bounded {
		<-m.room
	}
	select {
	case m.finished <- struct{}{}:
	default:
	}
}

// measure has c work for about d, and gives the events answered in a second.
func (m *meter) measure(c contestant, perSecond int, d time.Duration) (float64, error) {
	m.bounded = perSecond == 0
	goroutines, group := c.feeders()
	began := time.Now()
	if perSecond > 0 {
		d += warmUp
		m.from = began.Add(warmUp)
	}
	var put atomic.Int64
	var wg sync.WaitGroup
	errs := make([]error, goroutines)
	for i := range goroutines {
		wg.Go(func() {
			feed := m.flood
			if perSecond > 0 {
				feed = paced(time.Duration(goroutines)*time.Second/time.Duration(perSecond), began.Add(time.Duration(i)*time.Second/time.Duration(perSecond)))
			}
			for n := 0; errs[i] == nil && (n == 0 || time.Since(began) < d); {
				came := feed(group)
				errs[i] = c.put(came)
				n += len(came)
				put.Add(int64(len(came)))
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return 0, err
	}
	for limit := time.After(drainLimit); m.done.Load() < put.Load(); {
		select {
		case <-m.finished:
		case <-limit:
			return 0, fmt.Errorf("%d of %d events have no answer after %s", put.Load()-m.done.Load(), put.Load(), drainLimit)
		}
	}
	took := time.Since(began)
	if n := m.failed.Load(); n > 0 {
		return 0, fmt.Errorf("%d events failed", n)
	}
	return float64(put.Load()) / took.Seconds(), nil
}

// flood gives as many events as there is room for, one at least.
func (m *meter) flood(most int) []time.Time {
	came := make([]time.Time, 0, most)
	for len(came) < most {
		if len(came) == 0 {
			m.room <- struct{}{}
		} else {
			select {
			case m.room <- struct{}{}:
			default:
				return came
			}
		}
		came = append(came, time.Now())
	}
	return came
}

// paced gives the events that have come, one every so often from a time on, and
// waits for the first.
func paced(every time.Duration, next time.Time) func(int) []time.Time {
	return func(most int) (came []time.Time) {
		for wait := time.Until(next); wait > 0; wait = time.Until(next) {
			nap(wait)
		}
		for now := time.Now(); len(came) == 0 || len(came) < most && !next.After(now); next = next.Add(every) {
			came = append(came, next)
		}
		return came
	}
}
