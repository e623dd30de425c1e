package pace

import "testing"

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
