package pace

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/internal/testsize"
)

const hour = 3600 * second

// crowds are ways to post together, or not: the times of each account's posts
// until end, in nanoseconds.
var crowds = []struct {
	name  string
	posts func(rng *rand.Rand, accounts int, end int64) [][]int64
}{
	{"in minute 0 of hours of their own", func(rng *rand.Rand, accounts int, end int64) [][]int64 {
		posts := make([][]int64, accounts)
		for i := range posts {
			for at := int64(0); at < end; at += hour {
				if rng.IntN(10) == 0 {
					posts[i] = append(posts[i], at+rng.Int64N(60*second))
				}
			}
		}
		return posts
	}},
	{"half of them often in minute 0, the others hardly ever", func(rng *rand.Rand, accounts int, end int64) [][]int64 {
		posts := make([][]int64, accounts)
		for i := range posts {
			for at := int64(0); at < end; at += hour {
				if i%2 == 0 || rng.IntN(50) == 0 {
					posts[i] = append(posts[i], at+rng.Int64N(60*second))
				}
			}
		}
		return posts
	}},
	{"in the same hours", func(rng *rand.Rand, accounts int, end int64) [][]int64 {
		posts := make([][]int64, accounts)
		for at := int64(0); at < end; at += hour {
			if rng.IntN(10) == 0 {
				for i := range posts {
					posts[i] = append(posts[i], at+rng.Int64N(60*second))
				}
			}
		}
		return posts
	}},
	{"a part of them ten times within half an hour", func(rng *rand.Rand, accounts int, end int64) [][]int64 {
		posts := make([][]int64, accounts)
		for at := int64(0); at < end; at += rng.Int64N(6 * hour) {
			part := 2 + rng.IntN(8)
			for i := range posts {
				if rng.IntN(part) == 0 {
					for range 10 {
						posts[i] = append(posts[i], at+rng.Int64N(hour/2))
					}
				}
			}
		}
		return posts
	}},
	{"at rates that differ widely", func(rng *rand.Rand, accounts int, end int64) [][]int64 {
		posts := make([][]int64, accounts)
		for i, rate := range logNormal(accounts, 2.5) {
			for at := 0.0; at < float64(end); at += rng.ExpFloat64() / rate * 1e9 {
				posts[i] = append(posts[i], int64(at))
			}
		}
		return posts
	}},
}

// pollCrowd polls accounts that post so at the budget, for two days, and tells
// waited of each poll.
func pollCrowd(t *testing.T, p *Pacer, posts [][]int64, waited func(slot int32, seconds float64)) {
	t.Helper()
	for i := range posts {
		slices.Sort(posts[i])
	}
	pollFor(t, p, crowdDays*day, func(slot int32, last, now float64) []int64 {
		waited(slot, now-last)
		n, _ := slices.BinarySearch(posts[slot], int64(now*1e9)+1)
		found := posts[slot][:n]
		posts[slot] = posts[slot][n:]
		return found
	})
}

const (
	crowdDays     = 2
	crowdAccounts = 80
	crowdShare    = 300 // seconds
)

// Whatever is posted when, no account waits more than the default Max and
// patience, in equal shares, and two requests.
func TestLongestGapInManyWorlds(t *testing.T) {
	const most = defaultCeiling + 0.28 + 2.0/crowdAccounts
	for _, tc := range crowds {
		for seed := range uint64(testsize.Of(1, 2, 6)) {
			p := newPacer(t, crowdAccounts/float64(crowdShare), crowdAccounts)
			gap := 0.0
			posts := tc.posts(rand.New(rand.NewPCG(seed, 1)), crowdAccounts, crowdDays*24*hour)
			pollCrowd(t, p, posts, func(_ int32, seconds float64) { gap = max(gap, seconds/crowdShare) })
			if gap > most {
				t.Errorf("%s, seed %d: longest gap %.3f equal shares, want at most %.3f", tc.name, seed, gap, most)
			}
		}
	}
}

// A Max of an account's own is exceeded by no more than patience and the polls
// that are overdue with it.
func TestOwnMaxInManyWorlds(t *testing.T) {
	for _, tc := range crowds {
		for seed := range uint64(testsize.Of(1, 1, 3)) {
			rng := rand.New(rand.NewPCG(seed, 2))
			p := newPacer(t, crowdAccounts/float64(crowdShare), crowdAccounts)
			for i := range int32(crowdAccounts / 4) {
				if err := p.Update(i, Account{Max: time.Duration((1 + rng.Float64()) * crowdShare * 1e9)}); err != nil {
					t.Fatal(err)
				}
			}
			beyond := 0.0
			posts := tc.posts(rng, crowdAccounts, crowdDays*24*hour)
			pollCrowd(t, p, posts, func(slot int32, seconds float64) {
				beyond = max(beyond, (seconds-p.bounds.max(&p.accounts[slot]))/crowdShare)
			})
			if beyond > 0.35 {
				t.Errorf("%s, seed %d: %.3f equal shares beyond a Max, want at most 0.35", tc.name, seed, beyond)
			}
		}
	}
}

// While owners add accounts and have others hurried as fast as they can, those that go
// first take half of the budget at most, and the other half keeps everybody's bound.
func TestThoseThatGoFirstKeepTheBound(t *testing.T) {
	const guests, most = 40, defaultCeiling + 0.28 + 3.0/crowdAccounts
	for name, owner := range map[string]func(slot int32) string{
		"an owner each": func(slot int32) string { return strconv.Itoa(int(slot)) },
		"one owner":     func(int32) string { return "guest" },
	} {
		p := newPacer(t, (crowdAccounts+guests)/float64(crowdShare), crowdAccounts)
		rng := rand.New(rand.NewPCG(25, 26))
		last := make([]int64, crowdAccounts)
		for k := range int64(20_000) {
			now := int64(float64(k) / p.bounds.budget * 1e9)
			slot := int32(crowdAccounts + k%guests)
			p.Remove(slot)
			if err := p.Add(slot, now, Account{Owner: owner(slot)}); err != nil {
				t.Fatal(err)
			}
			p.Hurry(rng.Int32N(crowdAccounts), now)
			slot, ok := p.Next(now)
			if !ok {
				continue
			}
			if slot < crowdAccounts {
				if gap := float64(now-last[slot]) / crowdShare / 1e9; k > guests && gap > most {
					t.Fatalf("%s, poll %d: account %d waited %.3f equal shares, want at most %.3f", name, k, slot, gap, most)
				}
				last[slot] = now
			}
			if _, err := p.Observe(slot, now, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}
