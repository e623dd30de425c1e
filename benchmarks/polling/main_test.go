package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/enginetest/arrivals"
)

// One poll a second in turn, worked out by hand.
func TestReplay(t *testing.T) {
	a := &history{length: 10 * second, posts: [][]int64{{second / 2, 4 * second, 9 * second}, {2 * second}}}
	// Polled at 0, 2, … 10 and at 1, 3, … 9: delays 1.5, 0, 1 and 1.
	r := play(a, 1, 0, &inTurn{n: 2})
	if r.posts != 4 || r.mean != 3.5/4 || r.p50 != 1 || r.p95 != 1.5 || r.gap != 2 {
		t.Errorf("got %+v", r)
	}
	if r := play(a, 1, 2*second, &inTurn{n: 2}); r.posts != 3 {
		t.Errorf("%d posts scored from second 2, want 3", r.posts)
	}
	// Polled at 0 and 8 s only: the last post is 1 s old at the end.
	slow := play(&history{length: 10 * second, posts: a.posts[:1]}, 1.0/8, 0, &inTurn{n: 1})
	if want := (7.5 + 4 + 1) / 3; slow.mean != want {
		t.Errorf("mean %g, want %g", slow.mean, want)
	}
}

// Ours is below every other, also the best fixed allocation, where posting is
// bursty.
func TestOursAgainstHindsight(t *testing.T) {
	bursty := world{accounts: 150, days: 28, sigma: 1.6, daily: 0.7, drift: 0.3, turnover: 0.1, burst: 0.5}.generate(3)
	budget := 150 / 300.0
	results := map[string]result{}
	for _, c := range contestants(bursty, budget) {
		p, err := c.fresh()
		if err != nil {
			t.Fatal(err)
		}
		results[c.name] = play(bursty, budget, warmUp, p)
	}
	ours := results["streamwatch"].mean
	for name, r := range results {
		if !strings.HasPrefix(name, "streamwatch") && ours >= r.mean {
			t.Errorf("mean %.1f s, %s %.1f s: want less", ours, name, r.mean)
		}
	}
}

// gather has half of the accounts post in the first minutes of their hours alone.
func gather(r *arrivals.Recording) {
	for _, posts := range r.Posts[:len(r.Posts)/2] {
		for i, at := range posts {
			posts[i] = at.Truncate(time.Hour) + at%(3*time.Minute)
		}
		slices.Sort(posts)
	}
}

// Accounts that post at the same minutes of every hour are found sooner by as many calls
// when these are saved for those minutes, and none waits longer for its polls.
func TestSavedCalls(t *testing.T) {
	const accounts, interval = 150, 300.0
	recording := arrivals.Generate(arrivals.Config{Seed: 3, Accounts: accounts, Duration: 21 * 24 * time.Hour, PerDay: 2, Sigma: 1.6})
	gather(recording)
	a := fromRecording(recording)
	budget := accounts / interval
	run := func(p policy, err error) result {
		if err != nil {
			t.Fatal(err)
		}
		return play(a, budget, warmUp, p)
	}
	evenly, saved := run(newPaced(accounts, budget)), run(newSaving(accounts, budget, 300))
	if saved.mean > 0.8*evenly.mean || saved.gap > 1.02*evenly.gap {
		t.Errorf("mean %.1f s, longest gap %.0f s; without saving %.1f and %.0f: want at most 0.8 and 1.02 of them", saved.mean, saved.gap, evenly.mean, evenly.gap)
	}
	if most := int(budget * float64(a.length) / 1e9); saved.polls > most+1 {
		t.Errorf("%d polls, want at most %d", saved.polls, most)
	}
}
