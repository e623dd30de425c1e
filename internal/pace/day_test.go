package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

// A count that would exceed 15 halves all of them, and mixes none.
func TestCounts(t *testing.T) {
	c := counts{0xff, 0x2f}
	c.add(0)
	if c[0] != 0x78 || c[1] != 0x17 {
		t.Errorf("counts %x, want 7817", c)
	}
}

// The relative rate is 1 in the mean over a day, highest where posts were, and
// steady, also at midnight and before the epoch.
func TestDailyAt(t *testing.T) {
	var d daily
	if got := d.at(5 * hour); got != 1 {
		t.Errorf("%g without posts, want 1", got)
	}
	for range 10 {
		d.add(23 * hour)
	}
	const step = second * 60
	sum, last := 0.0, d.at(-24*hour-step)
	for at := -24 * hour; at < 0; at += step {
		now := d.at(at)
		if now != d.at(at+24*hour*100) {
			t.Fatalf("%g at %d s, %g a hundred days later", now, at/second, d.at(at+24*hour*100))
		}
		if math.Abs(now-last) > 0.05 {
			t.Errorf("%g after %g at %d s: want it steady", now, last, at/second)
		}
		sum, last = sum+now, now
	}
	if mean := sum / (24 * 60); math.Abs(mean-1) > 1e-9 {
		t.Errorf("mean %g, want 1", mean)
	}
	if high, low := d.at(23*hour), d.at(12*hour); high < 4 || low > 0.8 {
		t.Errorf("%g where posts were, %g elsewhere", high, low)
	}
}

// Of accounts that post much, a part of the posts is taken in, so that a day of
// other hours does not outweigh the weeks before.
func TestDailyReachesBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	var s state
	s.slow = 7 * 200
	for day := range int64(20) {
		from := 8 * hour
		if day == 19 {
			from = 20 * hour
		}
		for range 200 {
			s.remember(day*24*hour + from + rng.Int64N(2*hour))
		}
	}
	if usual, once := s.days.at(9*hour), s.days.at(21*hour); usual < 2*once {
		t.Errorf("%.2f at the usual hours, %.2f at those of one day: want the usual ones above", usual, once)
	}
}

// Accounts that keep to hours of their own are polled more often in these, and
// found earlier than with the hours left out. Where posts come at any hour, hours
// are not believed.
func TestHoursOfTheDay(t *testing.T) {
	const share, days = 300, 30
	n := int64(testsize.Of(20, 20, 60))
	run := func(awake int64, deaf bool) (mean float64, p *Pacer) {
		rng := rand.New(rand.NewPCG(5, 6))
		p = newPacer(t, float64(n)/share, int(n))
		next := make([]int64, n)
		later := func(slot int32, at int64) int64 {
			offset := int64(slot) % 4 * 6 * hour
			for {
				at += int64(rng.ExpFloat64() * float64(awake) / 12 * 1e9 * 3600)
				if (at+offset)%(24*hour) < awake*hour {
					return at
				}
			}
		}
		for i := range next {
			next[i] = later(int32(i), 0)
		}
		var delays, posts float64
		pollFor(t, p, days*day, func(slot int32, _, now float64) (times []int64) {
			if deaf {
				p.rates.habit = habit{}
			}
			for ; next[slot] <= int64(now*1e9); next[slot] = later(slot, next[slot]) {
				times = append(times, next[slot])
				if now > days*day/3 {
					delays += now - float64(next[slot])/1e9
					posts++
				}
			}
			return times
		})
		return delays / posts, p
	}
	with, p := run(8, false)
	without, _ := run(8, true)
	if p.rates.habit.trust < 0.5 || with > 0.95*without {
		t.Errorf("mean %.1f s, %.1f s without hours; trust %.2f: want 5 %% less, and trust", with, without, p.rates.habit.trust)
	}
	if _, p := run(24, false); p.rates.habit.trust > 0.15 {
		t.Errorf("trust %.2f where posts come at any hour, want hardly any", p.rates.habit.trust)
	}
}

// Min and Max are kept in nine bits, on the safe side.
func TestLimitsOnTheSafeSide(t *testing.T) {
	p := newPacer(t, 1, 0)
	for i, seconds := range []float64{1, 300, 513.3, 3601, 86_401} {
		limit := time.Duration(seconds * 1e9)
		for k, a := range []Account{{Min: limit}, {Max: limit}, {Min: limit, Max: limit}} {
			slot := int32(3*i + k)
			if err := p.Add(slot, 0, a); err != nil {
				t.Fatal(err)
			}
			s := &p.accounts[slot]
			low, high := p.bounds.min(s), p.bounds.max(s)
			if a.Min > 0 && (low < seconds || low > seconds*1.004) {
				t.Errorf("Min %g s is kept as %g", seconds, low)
			}
			if a.Min == 0 && (high > seconds || high < seconds/1.004) {
				t.Errorf("Max %g s is kept as %g", seconds, high)
			}
			if high < low {
				t.Errorf("Min %g s above Max %g s", low, high)
			}
		}
	}
}
