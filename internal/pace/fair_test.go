package pace

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// others is the mean delay, as a multiple of the fixed interval's, of accounts
// that post independently so many times a day, while greedy ones post right after
// every poll. The first three days are for learning. As posts are as likely at any time, it is that of the gaps between
// polls, without the chance of a few posts.
func others(t *testing.T, accounts, greedy int, perDay float64) float64 {
	t.Helper()
	const share, days = 300.0, 8
	p := newPacer(t, Config{Budget: float64(accounts) / share}, accounts)
	rng := rand.New(rand.NewPCG(15, 16))
	rate := perDay / 86_400
	next := make([]float64, accounts)
	for i := range next {
		next[i] = rng.ExpFloat64() / rate
	}
	var squares, gaps float64
	last := make([]float64, accounts)
	for k := 0.0; k/p.cfg.Budget < days*86_400; k++ {
		now := k / p.cfg.Budget
		slot, ok := p.Next(int64(now * 1e9))
		if !ok {
			continue
		}
		found := 0
		if int(slot) < greedy {
			found = 1
		} else {
			for ; next[slot] <= now; next[slot] += rng.ExpFloat64() / rate {
				found++
			}
			if gap := now - last[slot]; now > 3*86_400 {
				squares += gap * gap
				gaps += gap
			}
		}
		last[slot] = now
		if _, err := p.Observe(slot, int64(now*1e9), found); err != nil {
			t.Fatal(err)
		}
	}
	return squares / gaps / share
}

// A tenth of the accounts post after every poll. The others pay for it with no
// more than a quarter of their delay.
func TestPostingAfterEveryPoll(t *testing.T) {
	for _, perDay := range []float64{2, 20} {
		if mean := others(t, 200, 20, perDay); mean > 1.25 {
			t.Errorf("others, with %g posts a day: mean %.3f of a fixed interval's, want at most 1.25", perDay, mean)
		}
	}
}

// Where all accounts are alike nothing can be gained, and next to nothing is
// lost.
func TestAlikeIsNoWorseThanFixed(t *testing.T) {
	for _, perDay := range []float64{5, 20} {
		if mean := others(t, 200, 0, perDay); mean > 1.005 {
			t.Errorf("%g posts a day: mean %.4f of a fixed interval's, want at most 1.005", perDay, mean)
		}
	}
}

// All accounts post within the same half hours, and next to nothing else:
// following their bursts gains nothing, and loses next to nothing.
func TestAllInOneCrowd(t *testing.T) {
	const accounts, share, days = 200, 300.0, 10
	rng := rand.New(rand.NewPCG(17, 18))
	posts := make([][]float64, accounts)
	for begin := 3600.0; begin < (days-1)*86_400; begin += 43_200 + 86_400*rng.Float64() {
		for i := range posts {
			for range 5 {
				posts[i] = append(posts[i], begin+1800*rng.ExpFloat64())
			}
			slices.Sort(posts[i])
		}
	}
	p := newPacer(t, Config{Budget: accounts / share}, accounts)
	var delays, n float64
	for k := 0.0; k/p.cfg.Budget < days*86_400; k++ {
		now := k / p.cfg.Budget
		slot, ok := p.Next(int64(now * 1e9))
		if !ok {
			continue
		}
		found := 0
		for ; len(posts[slot]) > 0 && posts[slot][0] <= now; posts[slot] = posts[slot][1:] {
			delays += now - posts[slot][0]
			n++
			found++
		}
		if _, err := p.Observe(slot, int64(now*1e9), found); err != nil {
			t.Fatal(err)
		}
	}
	if mean := delays / n / (share / 2); mean > 1.01 {
		t.Errorf("mean %.3f of a fixed interval's, want at most 1.01", mean)
	}
}
