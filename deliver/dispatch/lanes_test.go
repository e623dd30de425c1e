package dispatch_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/deliver/dispatch"
)

// hangs has endpoints whose id begins so hang until the attempt's end, and
// others answer after a millisecond.
func hangs(prefix string) func(context.Context, *deliver.Delivery) deliver.Result {
	return func(ctx context.Context, d *deliver.Delivery) deliver.Result {
		if strings.HasPrefix(d.EndpointID, prefix) {
			<-ctx.Done()
			return deliver.Result{Error: "timeout"}
		}
		<-time.After(time.Millisecond)
		return deliver.Result{OK: true, StatusCode: 200}
	}
}

// worst is the longest wait from commit to first attempt of the endpoints with
// the prefix, and how many attempts they had.
func (b *bench) worst(prefix string) (worst time.Duration, n int) {
	b.t.Helper()
	committed := map[string]time.Time{}
	for page := 1; ; page++ {
		p, err := b.store.Ports().Log.Deliveries(b.t.Context(), deliver.LogQuery{Owner: "o", Page: page, PageSize: deliver.MaxLogPage})
		if err != nil {
			b.t.Fatal(err)
		}
		if len(p.Entries) == 0 {
			break
		}
		for _, e := range p.Entries {
			committed[e.ID] = e.Event.CommittedAt
		}
	}
	for _, s := range b.all() {
		if strings.HasPrefix(s.endpoint, prefix) && s.attempt == 1 {
			worst = max(worst, s.at.Sub(committed[s.id]))
			n++
		}
	}
	return worst, n
}

// Endpoints that hang hold no more than their share of the workers, whether they
// hang from the first attempt on or after they have worked for a while.
func TestHangingEndpointsLeaveWorkersFree(t *testing.T) {
	for _, row := range []struct {
		name    string
		hanging int
		each    int // deliveries to each of them
		bound   time.Duration
	}{
		{"one hangs", 1, 500, 0},
		{"64 hang", 64, 50, 5 * time.Millisecond},
		{"64 hang with full queues", 64, 150, 5 * time.Millisecond},
		{"500 hang", 500, 10, 5 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, hangs("bad"), func(c *dispatch.Config) { c.LaneQueue = 100 })
				for i := range 10 {
					b.endpoint(fmt.Sprint("good", i))
				}
				for i := range row.hanging {
					b.endpoint(fmt.Sprint("bad", i))
				}
				b.run()
				for i := range 10 { // known to answer
					b.commit(fmt.Sprint("good", i), "first", 1, true)
				}
				pass(time.Second)
				for i := range row.hanging {
					b.commit(fmt.Sprint("bad", i), "x", row.each, true)
					synctest.Wait()
				}
				for second := range 60 {
					for i := range 10 {
						b.commit(fmt.Sprint("good", i), fmt.Sprint("p", second, "-"), 1, true)
					}
					pass(time.Second)
				}
				worst, n := b.worst("good")
				if n != 10+600 || worst > row.bound {
					t.Errorf("%d of 610 deliveries of the others were sent, the latest after %s: want all within %s", n, worst, row.bound)
				}
				if b.most["bad0"] != 4 {
					t.Errorf("one that hangs held %d attempts, want its cap of 4", b.most["bad0"])
				}
				b.cut()
				<-b.done
			})
		})
	}
}

// A lane whose attempt timed out has one under way until one succeeds.
func TestTimeoutReducesALaneToOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		hung := func(ctx context.Context, d *deliver.Delivery) deliver.Result {
			if time.Since(began) < 25*time.Second {
				<-ctx.Done()
				return deliver.Result{Error: "timeout"}
			}
			<-time.After(100 * time.Millisecond)
			return deliver.Result{OK: true}
		}
		b := newBench(t, hung, nil)
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 100, true)
		for _, row := range []struct {
			at   time.Duration
			want int
		}{{5 * time.Second, 4}, {12 * time.Second, 1}, {29 * time.Second, 1}, {30050 * time.Millisecond, 1}, {30150 * time.Millisecond, 4}} {
			pass(row.at - time.Since(began))
			b.mu.Lock()
			if got := b.underWay["a"]; got != row.want {
				t.Errorf("%d attempts under way after %s, want %d", got, row.at, row.want)
			}
			b.mu.Unlock()
		}
		pass(time.Hour)
		b.stop()
		for _, e := range b.log() {
			if e.State != deliver.StateDelivered {
				t.Errorf("%s is %s", e.Event.TweetID, e.State)
			}
		}
	})
}

func TestEndpointLimits(t *testing.T) {
	for _, row := range []struct {
		name   string
		limits deliver.Limits
		takes  time.Duration
		in     time.Duration
		want   int // attempts begun by then
		most   int // under way at once
	}{
		{"the default in flight", deliver.Limits{}, time.Second, 9900 * time.Millisecond, 40, 4},
		{"two in flight", deliver.Limits{InFlight: 2}, time.Second, 9900 * time.Millisecond, 20, 2},
		{"more than the default in flight", deliver.Limits{InFlight: 50}, time.Second, 100 * time.Millisecond, 50, 50},
		{"5 a second, a second's at once", deliver.Limits{Rate: 5}, 0, 9900 * time.Millisecond, 5 + 49, 0},
		{"2.5 a second, one at once", deliver.Limits{Rate: 2.5, Burst: 1}, 0, 9900 * time.Millisecond, 1 + 24, 0},
		{"one in 20 s", deliver.Limits{Rate: 0.05}, 0, 190 * time.Second, 1 + 9, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
					if row.takes > 0 {
						<-time.After(row.takes)
					}
					return deliver.Result{OK: true}
				}, nil)
				b.endpoint("a")
				b.change("a", func(e *deliver.Endpoint) { e.Limits = row.limits })
				b.run()
				b.commit("a", "p", 200, true)
				pass(row.in)
				got := b.all()
				if len(got) != row.want {
					t.Errorf("%d attempts began in %s, want %d", len(got), row.in, row.want)
				}
				b.mu.Lock()
				most := b.most["a"]
				b.mu.Unlock()
				if row.most > 0 && most != row.most {
					t.Errorf("%d were under way at once, want %d", most, row.most)
				}
				before := -1 // the last of those that began earlier
				for i, from := 0, 0; i < len(got); i++ {
					if got[i].at.After(got[from].at) {
						for ; from < i; from++ {
							before = max(before, number(got[from].tweet))
						}
					}
					if number(got[i].tweet) <= before {
						t.Fatalf("%s began after %d, want them in order", got[i].tweet, before)
					}
				}
				pass(2 * time.Hour)
				b.stop()
				if n := len(b.all()); n != 200 {
					t.Errorf("%d attempts in the end, want each delivery sent once", n)
				}
			})
		})
	}
}

// number is the n of a post named p<n>.
func number(tweet string) int {
	n, err := strconv.Atoi(tweet[1:])
	if err != nil {
		panic(err)
	}
	return n
}

// After a lane has overflowed, what is committed later does not overtake what
// waits in the outbox.
func TestOverflowKeepsTheOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, func(context.Context, *deliver.Delivery) deliver.Result {
			<-time.After(10 * time.Millisecond)
			return deliver.Result{OK: true}
		}, func(c *dispatch.Config) { c.LaneQueue, c.LaneInFlight = 32, 1 })
		b.endpoint("a")
		b.run()
		b.commit("a", "old", 500, true)
		if s := b.d.Stats(); s.Held > 32+1 || s.Overflow == 0 {
			t.Errorf("%d held in memory and %d left to the outbox, want at most the lane's 32 and what is in flight", s.Held, s.Overflow)
		}
		for i := range 50 {
			pass(50 * time.Millisecond)
			b.commit("a", fmt.Sprint("new", i, "-"), 1, true)
		}
		pass(time.Minute)
		var got []string
		for _, s := range b.all() {
			got = append(got, s.tweet)
		}
		if i := slices.IndexFunc(got, func(s string) bool { return strings.HasPrefix(s, "new") }); len(got) != 550 || i != 500 {
			t.Errorf("of %d the first new one came as number %d, want 550 and after the 500 old ones", len(got), i+1)
		}
		// Once it has caught up, deliveries go straight to the sender again.
		began, left := time.Now(), b.d.Stats().Overflow
		b.commit("a", "direct", 1, true)
		synctest.Wait()
		if s := b.all()[550]; !s.at.Equal(began) || b.d.Stats().Overflow != left {
			t.Errorf("sent %s after the commit, or by way of the outbox: want at once", s.at.Sub(began))
		}
		b.stop()
	})
}

// While a store is slow to answer, one worker of a lane waits for it, and other
// lanes go on.
func TestSlowStoreHoldsOneWorkerOfALane(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		b := newBench(t, nil, func(c *dispatch.Config) {
			c.Workers = 2
			c.Endpoints = slowGet{c.Endpoints, func(context.Context) {
				reads.Add(1)
				<-time.After(3 * time.Second)
			}}
			c.Senders[deliver.SchemeHandler] = deliver.Handlers{"h": func(context.Context, deliver.Event) error { return nil }}
		})
		b.endpoint("a")
		b.run()
		b.commit("a", "p", 10, true)
		b.commitHandler("h", 1)
		synctest.Wait()
		if got := b.d.Stats(); got.Delivered != 1 || reads.Load() != 1 {
			t.Errorf("%d delivered and %d reads under way, want the handler's event and one read", got.Delivered, reads.Load())
		}
		pass(4 * time.Second)
		if n := len(b.all()); n != 10 {
			t.Errorf("%d attempts after the read, want 10", n)
		}
		b.stop()
	})
}
