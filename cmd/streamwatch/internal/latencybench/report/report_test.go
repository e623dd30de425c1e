package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/streamwatch/streamwatch/cmd/streamwatch/internal/latencybench/receipt"
)

// run makes the record of posts 1 s apart that arrived after so many ms each, negative
// for never.
func run(afterMS ...int) *receipt.Record {
	rec := &receipt.Record{Run: receipt.Run{Started: time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC), Wait: 10 * time.Second, Channels: []string{"webhook"},
		Settings: map[string]string{}, Environment: map[string]string{}}}
	for i, after := range afterMS {
		sent := time.Duration(i) * time.Second
		m := fmt.Sprintf("swb-%d", i)
		rec.Posts = append(rec.Posts, receipt.Post{Seq: i + 1, Account: "ann", Marker: m, Due: sent, Sent: sent, Acked: sent})
		if after >= 0 {
			rec.Arrivals = append(rec.Arrivals, receipt.Arrival{At: sent + time.Duration(after)*time.Millisecond, Channel: "webhook", Marker: m, Signature: receipt.Valid})
		}
	}
	slices.SortStableFunc(rec.Arrivals, func(a, b receipt.Arrival) int { return int((a.At - b.At) / time.Millisecond) })
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

func show1(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprint(*v)
}

// Percentiles are by nearest rank over all posts, lost ones the latest of all; the
// interval is that of the binomial distribution.
func TestPercentiles(t *testing.T) {
	lost := func(n int) []int { return slices.Repeat([]int{-1}, n) }
	for _, tc := range []struct {
		name  string
		after []int
		want  string // p50, p90, p95, p99, p99.9, with the 95 % interval
	}{
		{"a thousand", times(1000), "500 (469 532) 900 (881 920) 950 (936 965) 990 (983 998) 999 (997 -)"},
		{"a hundred", times(100), "50 (40 61) 90 (84 97) 95 (90 -) 99 (97 -) 100 (99 -)"},
		{"one", []int{7}, "7 (7 -) 7 (7 -) 7 (7 -) 7 (7 -) 7 (7 -)"},
		{"4 % lost", append(times(96), lost(4)...), "50 (40 61) 90 (84 -) 95 (90 -) - (-"},
		{"60 % lost", append(times(40), lost(60)...), "- (40 -) - (- -) - (- -) - (- -) - (- -)"},
		{"all lost", lost(3), "- (- -) - (- -)"},
		{"no posts", nil, "- (- -)"},
	} {
		c := Of(run(tc.after...)).Channels[0]
		var got []string
		for _, p := range c.Percentiles {
			got = append(got, fmt.Sprintf("%s (%s %s)", show1(p.MS), show1(p.Low), show1(p.High)))
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
	rec := run(5000, 10, 10, 10)
	if got := Of(rec).Channels[0].OutOfOrder; got != 1 {
		t.Errorf("%d out of order, want the first post, which came last", got)
	}
	rec.Posts[0].Account = "bob"
	if got := Of(rec).Channels[0].OutOfOrder; got != 0 {
		t.Errorf("%d out of order, want none: it is of another account", got)
	}
}

func TestWarmupAndFailuresAreNotScored(t *testing.T) {
	rec := run(9000, 10, 20, -1)
	rec.Run.Warmup = time.Second
	rec.Posts[3].Error = "refused"
	r := Of(rec)
	if want := (Posts{Due: 4, Failed: 1, Warmup: 1, Scored: 2}); r.Posts != want {
		t.Errorf("posts %+v, want %+v", r.Posts, want)
	}
	if c := r.Channels[0]; c.Received != 2 || c.Max != 20 || c.Mean != 15 || c.Unknown != 0 {
		t.Errorf("%+v: want 2 received, max 20 ms, mean 15 ms, and the arrival of the warm-up known", c)
	}
}

func TestChannelsAreApart(t *testing.T) {
	rec := run(10, 20, 30)
	rec.Run.Channels = []string{"webhook", "websocket"}
	rec.Arrivals[1].Channel = "websocket"
	for _, c := range Of(rec).Channels {
		if want := map[string]int{"webhook": 2, "websocket": 1}[c.Name]; c.Received != want || c.Lost != 3-want || c.Doubles != 0 {
			t.Errorf("%s: %d received, %d lost, want %d of 3", c.Name, c.Received, c.Lost, want)
		}
	}
}

func TestHistogram(t *testing.T) {
	var list []time.Duration
	for us := range int64(200_000) {
		from, upTo := bounds(us)
		if us < from || us >= upTo || upTo-from > max(1, from/4) {
			t.Fatalf("%d µs are in the bucket from %d to %d: want one around it, of a quarter at most", us, from, upTo)
		}
		list = append(list, time.Duration(us)*time.Microsecond)
	}
	sum, before := 0, -1.0
	for _, b := range histogram(list) {
		if b.From < before {
			t.Fatalf("bucket %+v begins before the end of the one before", b)
		}
		sum, before = sum+b.Count, b.UpTo
	}
	if sum != len(list) {
		t.Errorf("%d counted, want %d", sum, len(list))
	}
}

// The offset of the platform's clock follows from when posts can have been published.
func TestClock(t *testing.T) {
	at := func(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
	post := func(sent, acked, platform float64) receipt.Post {
		return receipt.Post{Sent: at(sent), Acked: at(acked), PlatformTime: run().Run.Started.Add(at(platform))}
	}
	for _, tc := range []struct {
		name  string
		posts []receipt.Post
		want  string
	}{
		{"no times", []receipt.Post{{Sent: 1}}, "<nil>"},
		{"one post", []receipt.Post{post(1, 2, 11.5)}, "&{Offset:10.0005 Error:0.5005 Consistent:true Samples:1}"},
		{"two posts", []receipt.Post{post(1, 2, 11.5), post(3, 3.2, 13.301)}, "&{Offset:10.2015 Error:0.1005 Consistent:true Samples:2}"},
		{"whole seconds", []receipt.Post{post(1, 1.2, 11)}, "&{Offset:10.4 Error:0.6 Consistent:true Samples:1}"},
		{"set in between", []receipt.Post{post(1, 2, 11.5), post(3, 4, 3.5)}, "&{Offset:5.0005 Error:5.5005 Consistent:false Samples:2}"},
		{"one not published", []receipt.Post{post(1, 2, 11.5), {Error: "x", PlatformTime: run().Run.Started}}, "&{Offset:10.0005 Error:0.5005 Consistent:true Samples:1}"},
	} {
		c := clockOf(&receipt.Record{Run: run().Run, Posts: tc.posts})
		got := "<nil>"
		if c != nil {
			got = fmt.Sprintf("&{Offset:%v Error:%v Consistent:%v Samples:%d}", c.Offset/1000, c.Error/1000, c.Consistent, c.Samples)
		}
		if got != tc.want {
			t.Errorf("%s: %s, want %s in seconds", tc.name, got, tc.want)
		}
	}
}

func TestText(t *testing.T) {
	rec := run(append(times(199), -1)...)
	rec.Arrivals[5].Signature = receipt.Invalid
	rec.Finish.Overflow = 3
	var b strings.Builder
	if err := Of(rec).WriteText(&b); err != nil {
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
	for v, want := range map[float64]string{0: "0 µs", 0.0421: "42.1 µs", 0.9994: "999 µs", 0.9996: "1 ms", 7: "7 ms", 12.345: "12.3 ms", 999.4: "999 ms",
		999.6: "1 s", 1234: "1.23 s", 998_900: "999 s", 21_600_000: "21600 s"} {
		if got := show(&v); got != want {
			t.Errorf("%v ms is %q, want %q", v, got, want)
		}
	}
	if got := show(nil); got != "lost" {
		t.Errorf("null is %q, want lost", got)
	}
}

// The picture is XML, and has nothing that is no number.
func TestPicture(t *testing.T) {
	for name, rec := range map[string]*receipt.Record{
		"many": run(times(2000)...), "one": run(5), "at once": run(0, 0), "none": run(), "all lost": run(-1, -1),
	} {
		var b strings.Builder
		if err := Of(rec).WriteSVG(&b, `A "title" <of & ours>`); err != nil {
			t.Fatal(err)
		}
		for d := xml.NewDecoder(strings.NewReader(b.String())); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if strings.Contains(b.String(), "NaN") || strings.Contains(b.String(), "Inf") || !strings.Contains(b.String(), "&lt;of &amp; ours&gt;") {
			t.Errorf("%s: no sound picture:\n%s", name, &b)
		}
	}
}

func TestIs(t *testing.T) {
	r := Of(run(10, 20))
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := r.Is(b); !same || err != nil {
		t.Errorf("the same figures without white space: %v, %v", same, err)
	}
	if same, err := r.Is([]byte(strings.Replace(string(b), `"received":2`, `"received":3`, 1))); same || err != nil {
		t.Errorf("other figures are the same: %v, %v", same, err)
	}
	if _, err := r.Is([]byte("p50 10 ms")); err == nil {
		t.Error("no error for what is no JSON")
	}
}
