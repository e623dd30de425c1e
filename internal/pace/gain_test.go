package pace

import (
	"math"
	"testing"
)

// What is measured in equal shares begins anew once the budget, and with it a
// share, has changed by more than a little, also bit by bit; polls of intervals
// that were planned before do not count.
func TestGainBeginsAnewWithTheBudget(t *testing.T) {
	const n = 50
	p := newPacer(t, Config{Budget: n / 300.0}, n)
	rates := logNormal(n, 1)
	poissonRun(t, p, rates, 3)
	measured := p.gain.weight
	if measured == 0 {
		t.Fatal("nothing was measured")
	}
	set := func(budget float64) {
		t.Helper()
		if err := p.SetBudget(budget); err != nil {
			t.Fatal(err)
		}
	}
	budget := p.bounds.budget
	set(1.04 * budget)
	if p.gain.weight != measured {
		t.Error("a budget that changed by 4 % began the measurement anew")
	}
	set(1.08 * budget)
	if p.gain.weight != 0 || p.gain.trust(n) != 1 {
		t.Errorf("after two changes %g posts are measured, trust %g; want none, and 1", p.gain.weight, p.gain.trust(n))
	}
	for range gainFirst * n {
		slot, _ := p.Next(1e18)
		if _, err := p.Observe(slot, 1e18, []int64{1e18 - 1e9}); err != nil {
			t.Fatal(err)
		}
	}
	if p.gain.weight != 0 {
		t.Errorf("%g posts of the first %d polls are measured", p.gain.weight, gainFirst*n)
	}
}

// Where intervals have gained nothing, because all accounts posted right after their polls,
// they are equal. A gain that can be had later shows all the same, and is taken.
func TestLaterGainShows(t *testing.T) {
	const n = 200 // with fewer, a little trust moves no account before another
	p := newPacer(t, Config{Budget: n / 300.0}, n)
	last, owed := make([]float64, n), make([]float64, n)
	now := 0.0
	// rounds polls all accounts so often, and returns the mean delay of the posts, in equal
	// shares. The posts of a poll are as even as they can be, so that nothing is left to
	// chance: from the poll before on, or, all together, right after it.
	rounds := func(times int, together bool) float64 {
		t.Helper()
		var delays, posts float64
		for range times * n {
			now += 300.0 / n
			slot, ok := p.Next(int64(now * 1e9))
			if !ok {
				t.Fatal("no account may be polled")
			}
			perRound := 8.0 // of every second account
			if slot%2 == 1 {
				perRound = 0.25
			}
			gap := now - last[slot]
			owed[slot] += perRound * gap / 300
			var found []int64
			for m, i := math.Floor(owed[slot]), 0.0; i < m; i++ {
				at := last[slot] + gap*(i+0.5)/m
				if together {
					at = last[slot] + 1
				}
				found = append(found, int64(at*1e9))
				delays += now - at
				posts++
			}
			owed[slot] -= math.Floor(owed[slot])
			last[slot] = now
			if _, err := p.Observe(slot, int64(now*1e9), found); err != nil {
				t.Fatal(err)
			}
		}
		return delays / posts / 300
	}
	rounds(60, true)
	if trust := p.gain.trust(n); trust > gainFloor {
		t.Fatalf("trust %.3f while all post together, want the least", trust)
	}
	for i := 0; i < 40 && p.gain.trust(n) < 1; i++ {
		rounds(10, false)
	}
	mean := rounds(30, false)
	t.Logf("trust %.3f, mean delay %.3f of an equal share", p.gain.trust(n), mean)
	if trust := p.gain.trust(n); trust < 0.9 || mean > 0.45 {
		t.Errorf("trust %.3f, mean delay %.3f of an equal share; want the unequal rates used", trust, mean)
	}
}
