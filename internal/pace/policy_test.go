package pace

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

// poissonRun polls n accounts with constant rates, posts a second, for some
// days at accounts/budget = 300 s, and gives the mean delay after the first
// third relative to D* = (Σ√λ)² / (2 B Σλ), and the longest gap in intervals.
func poissonRun(t *testing.T, p *Pacer, rates []float64, days float64) (mean, gap float64) {
	t.Helper()
	n := len(rates)
	var roots, sum float64
	for _, r := range rates {
		roots += math.Sqrt(r)
		sum += r
	}
	var delays, posts float64
	news, end := poisson(rand.New(rand.NewPCG(7, 8)), rates), days*day
	pollFor(t, p, end, func(slot int32, last, now float64) []int64 {
		found := news(slot, now)
		if now > end/3 {
			for _, at := range found {
				delays += now - float64(at)/1e9
				posts++
			}
			gap = max(gap, now-last)
		}
		return found
	})
	return delays / posts / (roots * roots / (2 * p.bounds.budget * sum)), gap / (float64(n) / p.bounds.budget)
}

func equal(n int, perDay float64) []float64 {
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = perDay / 86_400
	}
	return rates
}

func logNormal(n int, sigma float64) []float64 {
	rng := rand.New(rand.NewPCG(9, 10))
	rates := make([]float64, n)
	for i := range rates {
		rates[i] = 20.0 / 86_400 * math.Exp(sigma*rng.NormFloat64())
	}
	return rates
}

func TestUnequalRates(t *testing.T) {
	n := testsize.Of(50, 100, 200)
	mean, gap := poissonRun(t, newPacer(t, float64(n)/300, n), logNormal(n, 1.6), float64(testsize.Of(12, 12, 30)))
	if mean > 1.12 {
		t.Errorf("mean %.3f × D*, want at most 1.12: the bound and the shorter tail cost something", mean)
	}
	if gap > 2.8 {
		t.Errorf("longest gap %.2f intervals, want no more than the bound of %g and a little", gap, defaultCeiling)
	}
}

// A price that is wrong for every account, so that all plans are at a bound,
// finds its way back.
func TestPriceRecovers(t *testing.T) {
	n := testsize.Of(50, 100, 200)
	for _, off := range []float64{-20, 20} {
		p := newPacer(t, float64(n)/300, 0)
		addAll(t, p, n, Account{Min: 30 * time.Second})
		p.price.ln += off
		if mean, _ := poissonRun(t, p, logNormal(n, 1.6), float64(testsize.Of(10, 10, 20))); mean > 1.15 {
			t.Errorf("ln price off by %g: mean %.3f × D* later, want at most 1.15", off, mean)
		}
	}
}

// Bounds that leave a price no lesson, because every poll is a little beyond its
// bound, do not hold it for ever.
func TestPriceRecoversNearBounds(t *testing.T) {
	n := testsize.Of(50, 100, 200)
	for _, tc := range []struct {
		name string
		a    Account
		off  float64
	}{
		{"all at their Min", Account{Min: 200 * time.Second}, -20},
		{"all at their Max", Account{Max: 450 * time.Second}, 20},
	} {
		fresh := func() *Pacer {
			p := newPacer(t, float64(n)/300, 0)
			addAll(t, p, n, tc.a)
			return p
		}
		p := fresh()
		p.price.ln += tc.off
		days := float64(testsize.Of(10, 10, 20))
		mean, _ := poissonRun(t, p, logNormal(n, 1.6), days)
		good, _ := poissonRun(t, fresh(), logNormal(n, 1.6), days)
		if mean > 1.03*good {
			t.Errorf("%s: mean %.3f × D*, want no more than the %.3f of a good price", tc.name, mean, good)
		}
	}
}

// A budget that changes by a factor changes all intervals by it, at once and
// without leaving the policy.
func TestSetBudget(t *testing.T) {
	n := testsize.Of(50, 100, 200)
	p := newPacer(t, float64(n)/1200, n)
	rates := logNormal(n, 1.6)
	poissonRun(t, p, rates, 20)
	planned := func() (polls float64) {
		for i := range p.accounts {
			p.plan(int32(i), &p.accounts[i])
			polls += 1 / p.accounts[i].planned.value()
		}
		return polls
	}
	before := planned()
	if err := p.SetBudget(float64(n) / 300); err != nil {
		t.Fatal(err)
	}
	if got, want := p.Demand(), float64(n)/300/defaultCeiling; math.Abs(got/want-1) > 1e-9 {
		t.Errorf("bounds demand %g polls a second, want %g", got, want)
	}
	if after := planned(); math.Abs(after/before/4-1) > 0.02 {
		t.Errorf("%.2f times as many polls planned, want 4", after/before)
	}
}

// Accounts that post on a schedule are found out, each on its own minutes.
func TestSchedules(t *testing.T) {
	for _, interval := range []float64{290, 300} {
		n := testsize.Of(40, 50, 100)
		testSchedules(t, newPacer(t, float64(n)/interval, n), interval)
	}
	// Resumed accounts are polled in turn, at an interval that divides the hour: each would
	// be polled at the same minutes of every hour, if nothing else was tried.
	for _, interval := range []float64{300, 900} {
		const n = 57
		p := newPacer(t, n/interval, 0)
		for slot := range int32(n) {
			if err := p.Resume(slot, 0, 0, Account{}); err != nil {
				t.Fatal(err)
			}
		}
		testSchedules(t, p, interval)
	}
}

// testSchedules polls accounts that have a minute of their own, and whose equal share is an
// interval.
func testSchedules(t *testing.T, p *Pacer, interval float64) {
	t.Helper()
	const days = 12.0
	n := p.bounds.n
	var delays, posts float64
	pollFor(t, p, days*day, func(slot int32, last, now float64) (times []int64) {
		minute := float64(slot*37%60) * 60 // within each hour, once in three on average
		for hour := math.Floor(last / 3600); hour*3600 <= now; hour++ {
			at := hour*3600 + minute + float64(int(hour)*7919%60)
			if at > last && at <= now && (int(hour)*31+int(slot)*17)%97 < 32 {
				times = append(times, int64(at*1e9))
				if now > days*day/2 {
					delays += now - at
					posts++
				}
			}
		}
		return times
	})
	mean := delays / posts / (interval / 2)
	t.Logf("%d accounts, %g s: mean delay %.2f of a fixed interval's", n, interval, mean)
	if mean > 0.15 {
		t.Errorf("%d accounts, %g s: mean delay %.2f of a fixed interval's, want at most 0.15", n, interval, mean)
	}
}

// Rate follows what an account posts.
func TestRate(t *testing.T) {
	n := testsize.Of(50, 100, 200)
	p := newPacer(t, float64(n)/300, n)
	rates := logNormal(n, 1)
	poissonRun(t, p, rates, float64(testsize.Of(15, 15, 30)))
	off := 0.0
	for i, want := range rates {
		off += math.Abs(math.Log(p.Rate(int32(i)) / want))
	}
	if off /= float64(n); off > 0.35 {
		t.Errorf("rates off by a factor of %.2f on average, want at most 1.4", math.Exp(off))
	}
	if got := p.Rate(int32(n)); got != 0 {
		t.Errorf("rate %g of a slot not in use, want 0", got)
	}
}

// Twice the weight shortens the wait, by the power of the policy.
func TestWeight(t *testing.T) {
	const n = 100
	p := newPacer(t, n/300.0, n)
	for i := range int32(n / 2) {
		if err := p.Update(i, Account{Weight: 4}); err != nil {
			t.Fatal(err)
		}
	}
	polls := [2]float64{}
	pollFor(t, p, 50_000/p.bounds.budget, func(slot int32, _, _ float64) []int64 {
		polls[int(slot)*2/n]++
		return nil
	})
	want := math.Pow(4, exponent)
	if got := polls[0] / polls[1]; math.Abs(got/want-1) > 0.1 {
		t.Errorf("four times the weight is polled %.2f times as often, want %.2f", got, want)
	}
}

func BenchmarkDecision(b *testing.B) {
	const n = 100_000
	p := newPacer(b, n/300.0, n)
	now, times := int64(0), make([]int64, 1)
	b.ReportAllocs()
	for b.Loop() {
		now += 3_000_000
		times[0] = now - second
		if slot, ok := p.Next(now); ok {
			p.Observe(slot, now, times[:slot&1])
		}
	}
}
