package latencybench

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorded makes the record of posts 1 s apart that arrived after so many ms each, negative
// for never.
func recorded(afterMS ...int) *record {
	rec := &record{wait: 10 * time.Second, channels: []string{channelWebhook}}
	for i, after := range afterMS {
		sent := time.Duration(i) * time.Second
		m := fmt.Sprintf("swb-%d", i)
		rec.posts = append(rec.posts, post{seq: i + 1, account: "ann", marker: m, due: sent, sent: sent, acked: sent})
		if after >= 0 {
			rec.arrivals = append(rec.arrivals, arrival{sent + time.Duration(after)*time.Millisecond, channelWebhook, m, signatureValid, ""})
		}
	}
	slices.SortStableFunc(rec.arrivals, func(a, b arrival) int { return cmp.Compare(a.at, b.at) })
	return rec
}

// times are n times of 1 to n ms, in some order.
func times(n int) []int {
	list := rand.New(rand.NewPCG(1, 2)).Perm(n)
	for i := range list {
		list[i]++
	}
	return list
}

func show1(d time.Duration) string {
	if d == lost {
		return "-"
	}
	return fmt.Sprint(d.Milliseconds())
}

// Percentiles are by nearest rank over all posts, lost ones the latest of all; the
// interval is that of the binomial distribution.
func TestPercentiles(t *testing.T) {
	missing := func(n int) []int { return slices.Repeat([]int{-1}, n) }
	for _, tc := range []struct {
		name  string
		after []int
		want  string // p50, p90, p95, p99, p99.9, with the 95 % interval
	}{
		{"a thousand", times(1000), "500 (469 532) 900 (881 920) 950 (936 965) 990 (983 998) 999 (997 -)"},
		{"a hundred", times(100), "50 (40 61) 90 (84 97) 95 (90 -) 99 (97 -) 100 (99 -)"},
		{"one", []int{7}, "7 (7 -) 7 (7 -) 7 (7 -) 7 (7 -) 7 (7 -)"},
		{"4 % lost", append(times(96), missing(4)...), "50 (40 61) 90 (84 -) 95 (90 -) - (-"},
		{"60 % lost", append(times(40), missing(60)...), "- (40 -) - (- -) - (- -) - (- -) - (- -)"},
		{"all lost", missing(3), "- (- -) - (- -)"},
		{"no posts", nil, "- (- -)"},
	} {
		c := reportOf(recorded(tc.after...)).channels[0]
		var got []string
		for _, p := range c.percentiles {
			got = append(got, fmt.Sprintf("%s (%s %s)", show1(p.at), show1(p.low), show1(p.high)))
		}
		if text := strings.Join(got, " "); !strings.HasPrefix(text, strings.TrimSuffix(tc.want, " -)")) {
			t.Errorf("%s: %s, want %s", tc.name, text, tc.want)
		}
	}
}

// A quantile's interval holds that of the whole in about 95 of 100 samples.
func TestIntervalsHold(t *testing.T) {
	chance := rand.New(rand.NewPCG(3, 4))
	for _, q := range []float64{0.5, 0.9, 0.99} {
		const n, samples = 1000, 2000
		low, high := interval(q, n)
		held := 0
		for range samples {
			below := 0 // of n uniform numbers, those below q
			for range n {
				if chance.Float64() < q {
					below++
				}
			}
			if low <= below && below < high {
				held++
			}
		}
		if share := float64(held) / samples; share < 0.93 || share > 0.99 {
			t.Errorf("the interval of %v held in %v of the samples, want about 0.95", q, share)
		}
	}
}

func TestOrderIsByAccount(t *testing.T) {
	rec := recorded(5000, 10, 10, 10)
	if got := reportOf(rec).channels[0].outOfOrder; got != 1 {
		t.Errorf("%d out of order, want the first post, which came last", got)
	}
	rec.posts[0].account = "bob"
	if got := reportOf(rec).channels[0].outOfOrder; got != 0 {
		t.Errorf("%d out of order, want none: it is of another account", got)
	}
}

func TestWarmupAndFailuresAreNotScored(t *testing.T) {
	rec := recorded(9000, 10, 20, -1)
	rec.warmup = time.Second
	rec.posts[3].failed = true
	r := reportOf(rec)
	if want := (counts{due: 4, failed: 1, warmup: 1, scored: 2}); r.posts != want {
		t.Errorf("posts %+v, want %+v", r.posts, want)
	}
	if c := r.channels[0]; c.received != 2 || c.times[1] != 20*time.Millisecond || c.unknown != 0 {
		t.Errorf("%+v: want 2 received, 20 ms the longest, and the arrival of the warm-up known", c)
	}
}

func TestChannelsAreApart(t *testing.T) {
	rec := recorded(10, 20, 30)
	rec.channels = []string{"webhook", "websocket"}
	rec.arrivals[1].channel = "websocket"
	for _, c := range reportOf(rec).channels {
		if want := map[string]int{"webhook": 2, "websocket": 1}[c.name]; c.received != want || c.lost != 3-want || c.doubles != 0 {
			t.Errorf("%s: %d received, %d lost, want %d of 3", c.name, c.received, c.lost, want)
		}
	}
}

func TestText(t *testing.T) {
	rec := recorded(append(times(199), -1)...)
	rec.arrivals[5].signature = signatureInvalid
	rec.overflow = 3
	var b strings.Builder
	if err := reportOf(rec).write(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"200 posts: 200 scored", "webhook: 198 of 200 received, 2 lost", "1 arrivals with a wrong signature", "p50 ", "p99  ", "3 arrivals were too many"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, &b)
		}
	}
	if strings.Contains(b.String(), "p99.9") {
		t.Errorf("the table has p99.9 of 200 posts:\n%s", &b)
	}
}

func TestTimesHaveThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0s", 42_123: "42.1µs", 999_400: "999µs", 999_600: "1ms", 12_345_000: "12.3ms",
		1234 * time.Millisecond: "1.23s", time.Hour: "1h0m0s", lost: "lost"} {
		if got := show(d); got != want {
			t.Errorf("%d ns are %q, want %q", d, got, want)
		}
	}
}
