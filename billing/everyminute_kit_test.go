package billing_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/billing"
)

// rough is what happens to processes and clocks. Steps are between the moments at
// which minutes begin: there nobody knows who is first.
type rough struct {
	*testing.T
	*tally
	rnd    *rand.Rand
	offset time.Duration // of the clock, under mu
	stops  []func()
	did    map[string]int
	// ticked are the minutes that began, by the clock, while a process ran or in
	// which one started: no more and no less is charged after each step.
	ticked []bool
	due    int // of ticked
}

func (r *rough) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.offset)
}

func (r *rough) minute() int { return int(r.now().Sub(r.begin) / time.Minute) }

// live lasts until the last minute is charged.
func (r *rough) live() {
	pass(time.Second)
	r.start()
	for last := r.minutes - 1; r.minute() < last; r.check() {
		left := last - r.minute()
		switch r.rnd.IntN(8) {
		case 0:
			if len(r.stops) == 2 {
				r.stop()
				continue
			}
			r.start()
			r.did["second processes"]++
		case 1:
			r.stop()
			r.did["restarts"]++
			if len(r.stops) == 0 { // it is back within the minute
				r.pass(0)
				r.start()
			}
		case 2:
			r.jump(-r.rnd.IntN(min(120, r.minute()) + 1))
			r.did["jumps back"]++
		case 3:
			from, ahead := r.minute(), r.rnd.IntN(300)
			if ahead+200 > left {
				continue
			}
			r.jump(ahead)
			r.pass(1 + r.rnd.IntN(60))
			r.jump(from - r.minute())
			r.did["jumps ahead"]++
		case 4: // the last 60 minutes are made up for by who has charged before
			if left < 60 {
				continue
			}
			r.pass(1)
			r.set(true)
			r.pass(r.rnd.IntN(50))
			r.set(false)
			r.pass(1)
			r.did["outages"]++
		default:
			r.pass(min(left, 1+r.rnd.IntN(360/len(r.stops)/len(r.stops))))
		}
	}
	for len(r.stops) > 0 {
		r.stop()
	}
}

func (r *rough) tick(minute int) {
	if !r.ticked[minute] {
		r.ticked[minute] = true
		r.due++
	}
}

func (r *rough) check() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if want := r.due * len(r.streams); r.made != want && r.wrong == nil {
		r.wrong = fmt.Errorf("%d charges after %v, want %d", r.made, r.did, want)
	}
}

// pass lets some minutes begin, and goes on to some second within the last.
func (r *rough) pass(minutes int) {
	second := r.now().Second()
	to := 1 + r.rnd.IntN(59)
	if minutes == 0 {
		to = max(to, second)
	}
	for m := range minutes {
		r.tick(r.minute() + 1 + m)
	}
	pass(time.Duration(minutes)*time.Minute + time.Duration(to-second)*time.Second)
}

func (r *rough) jump(minutes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.offset += time.Duration(minutes) * time.Minute
}

func (r *rough) set(down bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = down
}

func (r *rough) start() {
	m, err := billing.NewMeter(billing.MeterConfig{Ledger: r.tally, Streams: r.tally, Now: r.now})
	if err != nil {
		r.Fatal(err)
	}
	ctx, cancel := context.WithCancel(r.Context())
	done := make(chan error, 1)
	go func() { done <- m.Run(ctx) }()
	synctest.Wait()
	r.tick(r.minute())
	r.stops = append(r.stops, func() {
		cancel()
		if err := <-done; err != nil {
			r.Error(err)
		}
	})
}

func (r *rough) stop() {
	r.stops[0]()
	r.stops = r.stops[1:]
}
