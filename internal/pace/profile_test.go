package pace

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestProfileBelief(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	minute := 60 * second
	for _, tc := range []struct {
		name    string
		at      func(k int64) int64 // of the k-th of 60 posts
		believe bool
	}{
		{"hourly at a minute of its own", func(k int64) int64 { return k*60*minute + 7*minute }, true},
		{"every 20 minutes, give or take one", func(k int64) int64 { return k*20*minute + 13*minute + rng.Int64N(minute) }, true},
		{"once a day at the same minute", func(k int64) int64 { return k*24*60*minute + 31*minute }, true},
		{"before the epoch", func(k int64) int64 { return (k-1000)*60*minute + 7*minute }, true},
		{"at any time", func(k int64) int64 { return rng.Int64N(30 * 24 * 60 * minute) }, false},
		{"a burst within three minutes", func(k int64) int64 { return 9*minute + k*second }, false},
		{"every 61 minutes", func(k int64) int64 { return k * 61 * minute }, false},
	} {
		var f profile
		for k := range int64(60) {
			f.add(tc.at(k))
		}
		if s, ok := f.shape(); ok != tc.believe {
			t.Errorf("%s: believed %v with belief %d, want %v", tc.name, ok, f.belief, tc.believe)
		} else if ok {
			if in := s.at(partOf(tc.at(0))); in < 4 {
				t.Errorf("%s: %.1f times the mean rate at its minutes, want at least 4", tc.name, in)
			}
		}
	}
}

// Posts at other minutes end a belief, and teach a new schedule.
func TestProfileMoves(t *testing.T) {
	var f profile
	for k := range int64(100) {
		f.add(k*3600*second + 300*second)
	}
	moved := 0
	for k := int64(100); k < 200; k++ {
		f.add(k*3600*second + 2000*second)
		if s, ok := f.shape(); !ok || s.at(partOf(2000*second)) < s.at(partOf(300*second)) {
			moved++
		}
	}
	if s, ok := f.shape(); !ok || s.at(partOf(2000*second)) < 4 || moved > 30 {
		t.Errorf("belief %d, %d posts on the old schedule, want the new one after at most 30", f.belief, moved)
	}
}

func scheduled() shape {
	var f profile
	rng := rand.New(rand.NewPCG(13, 14))
	for k := range int64(60) {
		f.add(k*1200*second + 700*second + rng.Int64N(200*second))
	}
	s, _ := f.shape()
	return s
}

func TestExposure(t *testing.T) {
	s := scheduled()
	if got := s.exposure(123*second, 5*3600); math.Abs(got-5*3600) > 1e-6 {
		t.Errorf("five hours are %g s of exposure, want 18000", got)
	}
	for _, tc := range []struct {
		from    int64
		seconds float64
	}{{0, 100}, {123 * second, 1000}, {3599 * second, 2}, {-500 * second, 3000}, {700 * second, 7900}} {
		want := 0.0
		for x := 0.5; x < tc.seconds*10; x++ {
			want += 0.1 * s.at(partOf(tc.from+int64(x*1e8)))
		}
		if got := s.exposure(tc.from, tc.seconds); math.Abs(got-want) > 0.3 {
			t.Errorf("exposure of %g s from %d: %g, want %g by adding up", tc.seconds, tc.from/second, got, want)
		}
	}
}

// The interval agrees with adding up in small steps, and for an even profile
// with the formula.
func TestShapedInterval(t *testing.T) {
	even := shape{&profile{}, 1, 0}
	s := scheduled()
	for _, tc := range []struct{ rate, price float64 }{{1e-4, 30}, {1e-3, 30}, {1e-2, 100}, {1e-4, 3000}, {1e-5, 1}, {1e-3, 1e9}} {
		const most = 5000
		want := min(most, math.Pow(2*tc.price/tc.rate, exponent))
		if got := even.interval(100*second, tc.rate, tc.price, most); math.Abs(got/want-1) > 0.01 {
			t.Errorf("%+v, even: %g s, want %g", tc, got, want)
		}
		for _, from := range []int64{0, 500 * second, 800 * second, 1000 * second} {
			posts, waited, want := 0.0, 0.0, 0.0
			for want < most && waited*math.Pow(max(want, 0.1), 1/exponent-2) < tc.price {
				posts += 0.1 * tc.rate * s.at(partOf(from+int64(want*1e9)))
				waited += 0.1 * posts
				want += 0.1
			}
			if got := s.interval(from, tc.rate, tc.price, most); math.Abs(got/want-1) > 0.03 {
				t.Errorf("%+v from %d s: %g s, want %g by adding up", tc, from/second, got, want)
			}
		}
	}
}

func TestRecord(t *testing.T) {
	var r record
	slow, fast := at(1e-4, 0), at(1e-4, 1e-2)
	for range 100_000 {
		r.learn(slow, 0.5, 1)
		r.learn(fast, 3, 1)
	}
	if a, b := r.factor(slow), r.factor(fast); math.Abs(a-0.5) > 0.01 || math.Abs(b-3) > 0.01 {
		t.Errorf("factors %g and %g, want 0.5 and 3: what was found for what was expected", a, b)
	}
	for range 30_000 {
		r.learn(fast, 1, 1)
	}
	if got := r.factor(fast); math.Abs(got-1) > 0.2 {
		t.Errorf("factor %g after a change, want about 1", got)
	}
	if got := r.factor(at(1e-3, 1e-2)); got != 1 {
		t.Errorf("factor %g of another cell, want 1", got)
	}
	for _, rate := range []float64{0, 1e-30, 1e30, math.SmallestNonzeroFloat64} {
		r.factor(at(rate, rate)) // in range
	}
}
