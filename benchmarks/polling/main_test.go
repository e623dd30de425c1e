package main

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const sample = "# arrivals v1 name=tiny accounts=2 events=3 start=100 end=200\n# a comment\n0\t101.5\n1\t110\n0\t110\n"

func TestParseArrivals(t *testing.T) {
	a, err := parseArrivals(strings.NewReader(sample))
	if err != nil {
		t.Fatal(err)
	}
	if a.name != "tiny" || a.length != 100*second || len(a.posts) != 2 ||
		!slices.Equal(a.posts[0], []int64{1_500_000_000, 10 * second}) {
		t.Errorf("got %+v", a)
	}
	for _, tc := range []struct{ name, from, to, want string }{
		{"another format", "arrivals v1", "arrivals v2", "line 1"},
		{"no accounts", "accounts=2", "accounts=0", "want 1 to"},
		{"end before start", "end=200", "end=99", "start before end"},
		{"unknown account", "1\t110", "2\t110", `line 4: account "2"`},
		{"a time outside", "1\t110", "1\t210", `line 4: time "210"`},
		{"not sorted", "0\t110\n", "0\t101\n", `line 5: time "101"`},
		{"another count", "events=3", "events=4", "3 events"},
	} {
		_, err := parseArrivals(strings.NewReader(strings.Replace(sample, tc.from, tc.to, 1)))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want one with %q", tc.name, err, tc.want)
		}
	}
}

func FuzzParseArrivals(f *testing.F) {
	f.Add(sample)
	f.Add("# arrivals v1 accounts=1 events=0 start=NaN end=1\n")
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 10_000 || strings.Contains(text, "0000") { // not millions of accounts
			return
		}
		a, err := parseArrivals(strings.NewReader(text))
		if err != nil {
			return
		}
		for _, posts := range a.posts {
			if !slices.IsSorted(posts) || len(posts) > 0 && (posts[0] < 0 || posts[len(posts)-1] > a.length) {
				t.Errorf("posts %v, want sorted and within %d", posts, a.length)
			}
		}
	})
}

func TestMissingFileIsSkipped(t *testing.T) {
	o := options{arrivals: filepath.Join(t.TempDir(), "none"), interval: time.Minute}
	if got, err := o.inputs(); err != nil || len(got) != 0 {
		t.Errorf("inputs %v, error %v, want none", got, err)
	}
	if err := os.WriteFile(o.arrivals, []byte(sample), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := o.inputs(); err != nil || len(got) != 1 {
		t.Errorf("inputs %v, error %v, want the file", got, err)
	}
}

// One poll a second in turn, worked out by hand.
func TestReplay(t *testing.T) {
	a := &arrivals{length: 10 * second, posts: [][]int64{{second / 2, 4 * second, 9 * second}, {2 * second}}}
	// Polled at 0, 2, … 10 and at 1, 3, … 9: delays 1.5, 0, 1 and 1.
	r := replay(a, 1, 0, &inTurn{n: 2})
	if r.posts != 4 || r.mean != 3.5/4 || r.p50 != 1 || r.p95 != 1.5 || r.gap != 2 {
		t.Errorf("got %+v", r)
	}
	if r := replay(a, 1, 2*second, &inTurn{n: 2}); r.posts != 3 {
		t.Errorf("%d posts scored from second 2, want 3", r.posts)
	}
	// Polled at 0 and 8 s only: the last post is 1 s old at the end.
	slow := replay(&arrivals{length: 10 * second, posts: a.posts[:1]}, 1.0/8, 0, &inTurn{n: 1})
	if want := (7.5 + 4 + 1) / 3; slow.mean != want {
		t.Errorf("mean %g, want %g", slow.mean, want)
	}
}

func TestGenerate(t *testing.T) {
	w := world{accounts: 300, days: 30, sigma: 0, daily: 0.8, turnover: 0.1, burst: 0.5}
	a, b := w.generate(1), w.generate(1)
	total := 0
	for i := range a.posts {
		if !slices.Equal(a.posts[i], b.posts[i]) || !slices.IsSorted(a.posts[i]) {
			t.Fatalf("account %d: not the same twice, or not sorted", i)
		}
		total += len(a.posts[i])
	}
	// Two posts a day, less half the life of the fifth that join or leave.
	if want := 300 * 30 * 2 * 0.9; math.Abs(float64(total)/want-1) > 0.1 {
		t.Errorf("%d posts, want about %g", total, want)
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
		results[c.name] = replay(bursty, budget, warmUp, p)
	}
	ours := results["streamwatch"].mean
	for name, r := range results {
		if name != "streamwatch" && ours >= r.mean {
			t.Errorf("mean %.1f s, %s %.1f s: want less", ours, name, r.mean)
		}
	}
}
