package budget_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/streamwatch/streamwatch/detect/internal/budget"
	"github.com/streamwatch/streamwatch/detect/internal/spend"
	"github.com/streamwatch/streamwatch/fetcher"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var errStopped = errors.New("stopped")

// kit is a budget in a synctest bubble.
type kit struct {
	*budget.Budget
	epoch time.Time
	stop  chan struct{}
	log   bytes.Buffer
	rings atomic.Int64
}

func newKit(perSecond float64, burst int) *kit { return newCostlyKit(perSecond, burst, spend.Cost{}) }

func newCostlyKit(perSecond float64, burst int, cost spend.Cost) *kit {
	k := &kit{epoch: time.Now(), stop: make(chan struct{})}
	cfg := k.config(nil)
	cfg.PerSecond, cfg.Burst, cfg.Spend.Cost = perSecond, burst, cost
	k.Budget = budget.New(cfg)
	return k
}

// config sets up a budget without limits.
func (k *kit) config(limited func(string, time.Time)) budget.Config {
	return budget.Config{Epoch: k.epoch, Clock: k.clock, Now: time.Now, Limited: limited,
		Backoff: func(n int) time.Duration { return time.Second << (n - 1) }, Stop: k.stop, Stopped: errStopped,
		Ring: func() { k.rings.Add(1) }, Logger: slog.New(slog.NewTextHandler(&k.log, nil))}
}

func (k *kit) clock() int64 { return int64(time.Since(k.epoch)) }

// calls makes calls one after the other from so many goroutines until end, and
// returns when each was made.
func (k *kit) calls(t *testing.T, callers int, end time.Duration) (at []time.Duration) {
	ctx, cancel := context.WithTimeout(t.Context(), end)
	defer cancel()
	var mu sync.Mutex
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for k.Wait(ctx) == nil {
				mu.Lock()
				at = append(at, time.Duration(k.clock()))
				mu.Unlock()
			}
		})
	}
	all.Wait()
	return at
}

// In no window are there more calls than the burst and what comes by the second,
// and callers that never rest make all of them.
func TestCallsKeepToTheRate(t *testing.T) {
	for _, row := range []struct {
		perSecond float64
		burst     int
	}{{1, 1}, {5, 1}, {5, 20}, {0.1, 3}} {
		t.Run(fmt.Sprintf("%g a second, %d at once", row.perSecond, row.burst), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const end = 100 * time.Second
				at := newKit(row.perSecond, row.burst).calls(t, 7, end+time.Millisecond)
				if got, want := len(at), row.burst+int(row.perSecond*end.Seconds()); got != want {
					t.Errorf("%d calls in %s, want %d", got, end, want)
				}
				for i := range at {
					for j := i; j < len(at); j++ {
						if n, most := float64(j-i+1), float64(row.burst)+row.perSecond*(at[j]-at[i]).Seconds()+1e-6; n > most {
							t.Fatalf("%g calls from %s to %s, want at most %.1f", n, at[i], at[j], most)
						}
					}
				}
			})
		})
	}
}

func TestNoBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(0, 0)
		for range 1000 {
			if err := k.Wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if k.clock() != 0 || k.Bounded() {
			t.Errorf("1000 calls took %d ns, bounded %t: want none of it", k.clock(), k.Bounded())
		}
	})
}

// What a caller gave up waiting for is the next caller's.
func TestTicketIsGivenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(0.1, 1)
		k.Wait(t.Context())
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := k.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("wait ended with %v, want the context's error", err)
		}
		if k.Wait(t.Context()); k.clock() != int64(10*time.Second) {
			t.Errorf("the next call is made after %s, want 10 s", time.Duration(k.clock()))
		}
	})
}

// A ticket that is not used in time is lost, so that a lull does not end in more
// calls than the burst.
func TestOldTicketIsVoid(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(1, 2)
		for range 20 { // tickets for the next 18 seconds, all given back
			ctx, cancel := context.WithTimeout(t.Context(), 0)
			k.Wait(ctx)
			cancel()
			ctx, cancel = context.WithTimeout(t.Context(), time.Nanosecond)
			k.Wait(ctx)
			cancel()
		}
		<-time.After(time.Minute)
		from := k.clock()
		for range 3 {
			k.Wait(t.Context())
		}
		if took := time.Duration(k.clock() - from); took < time.Second-time.Millisecond {
			t.Errorf("3 calls within %s after a lull, want 2 at once", took)
		}
	})
}

// The gate, or a bucket, stays closed for the time asked, 15 minutes at most, and up to two
// seconds longer; it never opens earlier than it was told before. Others are told, except of what
// another process has met, and the log has it once.
func TestGate(t *testing.T) {
	for _, row := range []struct {
		name        string
		waits       []time.Duration
		least, most time.Duration
		told        int
	}{
		{"not at all", []time.Duration{0, -time.Hour}, 0, 0, 0},
		{"as long as asked", []time.Duration{time.Minute}, time.Minute, time.Minute + 2*time.Second, 1},
		{"not for ever", []time.Duration{24 * time.Hour}, budget.MaxClosed, budget.MaxClosed + 2*time.Second, 1},
		{"not shorter than before", []time.Duration{time.Minute, time.Second}, time.Minute, time.Minute + 2*time.Second, 1},
		{"longer than before", []time.Duration{time.Second, time.Minute}, time.Minute, time.Minute + 2*time.Second, 2},
	} {
		for _, bucket := range []string{"", "timelines"} {
			for _, other := range []bool{false, true} {
				synctest.Test(t, func(t *testing.T) {
					k, told := newKit(0, 0), 0
					k.Budget = budget.New(k.config(func(of string, until time.Time) {
						if told++; of != bucket || time.Until(until) > row.most {
							t.Errorf("%s: told of %q until %s", row.name, of, until)
						}
					}))
					for _, wait := range row.waits {
						switch {
						case bucket == "" && other:
							k.Close(min(wait, budget.MaxClosed), "too many")
						case bucket == "":
							k.CloseFor(wait, "too many")
						case other:
							k.Buckets.Close(bucket, wait, "too many")
						default:
							k.Buckets.CloseFor(bucket, wait, "too many")
						}
					}
					closed, limits := time.Duration(0), k.Limits()
					if until, ok := limits[bucket]; ok {
						closed = time.Until(until)
					}
					if k.Closed(k.clock()) > 0 != (bucket == "" && closed > 0) || len(limits) > 1 || k.Buckets.Until("others") != 0 ||
						bucket != "" && (k.Buckets.Any() != (closed > 0) || k.Buckets.Until(bucket) != int64(closed)) {
						t.Errorf("%s: the limits %v close other calls, too, or none", row.name, limits)
					}
					if other {
						told += row.told
					}
					if logged := strings.Count(k.log.String(), "rate limited"); closed < row.least || closed > row.most || told != row.told || logged != min(told, 1) {
						t.Errorf("%s, bucket %q: closed for %s, told %d times and logged %d times; want %s to %s, told %d times", row.name, bucket, closed, told, logged, row.least, row.most, row.told)
					}
					if k.Wait(t.Context()); bucket == "" && time.Duration(k.clock()) != closed {
						t.Errorf("%s: a call is made after %s, want %s", row.name, time.Duration(k.clock()), closed)
					}
					<-time.After(time.Until(k.epoch.Add(closed)))
					if limits := k.Limits(); limits != nil || k.Buckets.Until(bucket) != 0 || k.Buckets.Any() {
						t.Errorf("%s: closed %v when it is over", row.name, limits)
					}
				})
			}
		}
	}
}

// Callers that waited for the gate keep to the rate when it opens, also one that had
// its turn when it closed.
func TestCallersDoNotComeAtOnceWhenTheGateOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(1, 1)
		go func() {
			<-time.After(500 * time.Millisecond)
			k.CloseFor(time.Minute, "too many")
		}()
		at := k.calls(t, 5, 70*time.Second)
		if len(at) < 5 || at[0] != 0 || at[1] < time.Minute {
			t.Fatalf("calls at %v, want one at once and the rest after the gate has opened", at)
		}
		for i := 2; i < len(at); i++ {
			if at[i]-at[i-1] < time.Second-time.Millisecond {
				t.Errorf("calls at %s and %s, want them a second apart", at[i-1], at[i])
			}
		}
	})
}

// A share of the cost limit that grows opens what that limit has closed, for those that wait,
// too, and nothing that a rate limit has.
func TestShareOfTheCostLimitGrows(t *testing.T) {
	for _, limited := range []time.Duration{0, 10 * time.Minute} {
		synctest.Test(t, func(t *testing.T) {
			k := newCostlyKit(2, 1, spend.Cost{Prices: fetcher.Prices{Post: 1}, Limit: 10})
			k.SetRate(1)
			k.CloseFor(limited, "too many")
			k.Spend.Add(fetcher.Billed{Posts: 6})
			if closed := k.Closed(k.clock()); closed < 24*time.Hour {
				t.Errorf("closed for %s with 6 of 5 spent, want the rest of the day", closed)
			}
			var waited time.Duration
			var waiting sync.WaitGroup
			waiting.Go(func() {
				if err := k.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				waited = time.Duration(k.clock())
			})
			<-time.After(time.Minute)
			k.SetRate(2)
			waiting.Wait()
			least := max(limited, time.Minute)
			if waited < least || waited > least+3*time.Second {
				t.Errorf("a call is made after %s with 6 of 10 spent and a rate limit of %s, want one after %s", waited, limited, least)
			}
		})
	}
}

func TestStopEndsAllWaiting(t *testing.T) {
	for name, wait := range map[string]func(k *kit) error{
		"for a ticket": func(k *kit) error { k.Wait(context.Background()); return k.Wait(context.Background()) },
		"for the gate": func(k *kit) error { k.CloseFor(time.Hour, ""); return k.Wait(context.Background()) },
		"for a page":   func(k *kit) error { k.Wait(context.Background()); return k.WaitPage(context.Background()) },
		"afterwards":   func(k *kit) error { <-time.After(time.Hour); return k.Wait(context.Background()) },
	} {
		synctest.Test(t, func(t *testing.T) {
			k := newKit(0.001, 1)
			go func() {
				<-time.After(time.Second)
				close(k.stop)
			}()
			if err := wait(k); err != errStopped || k.Stopped() != errStopped {
				t.Errorf("waiting %s ends with %v, want %v", name, err, errStopped)
			}
			synctest.Wait()
		})
	}
}

// While polls wait to read on, no other should begin; the last of them rings.
func TestReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(1, 1)
		k.Wait(t.Context())
		for range 3 { // for a second, two and three
			go k.WaitPage(t.Context())
		}
		synctest.Wait()
		for _, row := range []struct {
			after   time.Duration
			reading bool
			rings   int64
		}{{0, true, 0}, {2500 * time.Millisecond, true, 0}, {time.Second, false, 1}} {
			<-time.After(row.after)
			synctest.Wait()
			if k.Reading() != row.reading || k.rings.Load() != row.rings {
				t.Errorf("after %s reading %t and %d rings, want %t and %d", time.Duration(k.clock()), k.Reading(), k.rings.Load(), row.reading, row.rings)
			}
		}
	})
}

// The log tells once of a limit that many calls meet, and once that it is over.
func TestLimitIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newKit(0, 0)
		k.Works()
		for range 5 {
			k.CloseFor(time.Minute, "too many requests")
			k.Works() // of a call that was under way
		}
		k.Wait(t.Context())
		k.Works()
		k.Works()
		log := k.log.String()
		if strings.Count(log, `"rate limited"`) != 1 || strings.Count(log, "too many requests") != 1 || strings.Count(log, "rate limit is over") != 1 {
			t.Errorf("log\n%s\nwant one line of the limit and one of its end", log)
		}
	})
}

// A refusal without a time to wait closes its bucket for longer with each one since its last success.
// Those of calls that were under way together are one.
func TestRefused(t *testing.T) {
	type step struct {
		bucket    string
		ago       time.Duration // the call was made so long ago
		asked     time.Duration // Retry-After
		succeeded string        // a call of this bucket, if the step is no refusal
	}
	again := func(bucket string) step { return step{bucket: bucket} }
	for _, row := range []struct {
		name  string
		steps []step // each after the buckets are open again, unless it was made before
		want  time.Duration
	}{
		{"once", []step{again("a")}, time.Second},
		{"again and again", []step{again("a"), again("a"), again("a")}, 4 * time.Second},
		{"after a success", []step{again("a"), again("a"), {succeeded: "a"}, again("a")}, time.Second},
		{"after another bucket's success", []step{again("a"), again("a"), {succeeded: "b"}, again("a")}, 4 * time.Second},
		{"after another bucket's", []step{again("b"), again("b"), again("a")}, time.Second},
		{"of calls that were under way", []step{again("a"), {bucket: "a", ago: time.Minute}, {bucket: "a", ago: time.Minute}, again("a")}, 2 * time.Second},
		{"with a time to wait", []step{again("a"), again("a"), {bucket: "a", asked: 7 * time.Second}}, 7 * time.Second},
		{"of all calls", []step{again(""), again("")}, 2 * time.Second},
		{"of all calls, after any success", []step{again(""), again(""), {succeeded: "b"}, again("")}, time.Second},
		{"long ago", []step{again("a"), again("a"), {ago: -2 * time.Hour, succeeded: "b"}, again("a")}, time.Second},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				k := newKit(0, 0)
				var last step
				for _, s := range row.steps {
					if s.ago <= 0 {
						for _, until := range k.Limits() {
							<-time.After(time.Until(until) + time.Second)
						}
						<-time.After(-s.ago)
					}
					if s.succeeded != "" {
						k.Buckets.Succeeded(s.succeeded)
						continue
					}
					k.Refused(s.bucket, k.clock()-int64(s.ago), s.asked, "test")
					last = s
				}
				closed := time.Until(k.Limits()[last.bucket])
				if closed < row.want || closed > row.want+2*time.Second {
					t.Errorf("closed for %s, want %s and up to 2 s more", closed, row.want)
				}
			})
		})
	}
}
