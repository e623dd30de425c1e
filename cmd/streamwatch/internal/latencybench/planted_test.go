package latencybench

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/deliver"
	"github.com/streamwatch/streamwatch/secret"
)

const testSecret = secret.Value("whsec_dGhpcyBpcyBhIHNlY3JldCBvZiB0aGlydHktdHdv")

// planted is a platform and a detector with known faults: it sees each post at once, and
// delivers as plan says.
type planted struct {
	limits  limits
	takes   time.Duration         // that publishing takes; the detector sees the post in its middle
	refuse  func(n int) bool      // posts that are not published
	plan    func(n int) []request // what it makes of the n-th post, from 1
	hook    http.Handler
	senders sync.WaitGroup

	mu sync.Mutex
	n  int
}

// request is one webhook of the detector.
type request struct {
	after    time.Duration
	by       secret.Value // "" leaves out the signature
	delivery string
	text     string // "" for the post's
}

func (p *planted) Accounts() []string { return []string{"ann"} }
func (p *planted) Limits() limits     { return p.limits }

func (p *planted) Post(_ context.Context, _ int, text string) error {
	p.mu.Lock()
	p.n++
	n := p.n
	p.mu.Unlock()
	if p.refuse != nil && p.refuse(n) {
		return errors.New("refused")
	}
	pause(context.Background(), p.takes/2)
	for _, r := range p.plan(n) {
		p.senders.Go(func() {
			pause(context.Background(), r.after)
			body := fmt.Sprintf(`{"post":{"text":%q,"again":%[1]q}}`, text)
			if r.text != "" {
				body = r.text
			}
			req := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
			if r.by != "" {
				req.Header.Set(deliver.HeaderSignature, deliver.Sign(r.by, []byte(body)))
			}
			req.Header.Set(deliver.HeaderDeliveryID, r.delivery)
			p.hook.ServeHTTP(httptest.NewRecorder(), req)
		})
	}
	pause(context.Background(), p.takes/2)
	return nil
}

// measured runs a benchmark of so many posts, 10 a second, in virtual time.
func (p *planted) measured(t *testing.T, posts int, key secret.Value) *report {
	t.Helper()
	b := newBook()
	if p.limits.inFlight == 0 {
		p.limits.inFlight = 1
	}
	p.hook = &webhookHandler{b, key}
	due, err := plan{rate: 10, posts: posts, within: time.Hour, seed: 1, accounts: 1}.schedule(0)
	if err != nil {
		t.Fatal(err)
	}
	r := &runner{book: b, poster: p, due: due, wait: 10 * time.Second, failed: func(error) {}}
	base, made := r.run(t.Context())
	rec := &record{warmup: base, wait: r.wait, channels: []string{channelWebhook}, posts: made}
	b.close(rec)
	p.senders.Wait()
	return reportOf(rec)
}

// once is a detector that delivers each post once, so late.
func once(after time.Duration) func(int) []request {
	return func(n int) []request { return []request{{after: after, by: testSecret, delivery: fmt.Sprint(n)}} }
}

func every(n, of int) bool { return n%of == 0 }

// What a detector does wrong is in the figures, each under its name.
func TestPlantedFaults(t *testing.T) {
	sound := func(n int) []request { return once(20 * time.Millisecond)(n) }
	for _, tc := range []struct {
		name string
		key  secret.Value
		plan func(n int) []request
		want channel       // counts alone
		p50  time.Duration // ms
	}{
		{"none", testSecret, sound, channel{received: 1000}, 20},
		{"drops 1 %", testSecret, func(n int) []request {
			if every(n, 100) {
				return nil
			}
			return sound(n)
		}, channel{received: 990, lost: 10}, 20},
		{"doubles 1 %, half of them as redeliveries", testSecret, func(n int) []request {
			again := request{after: 5 * time.Second, by: testSecret, delivery: fmt.Sprint(n)}
			if every(n, 200) {
				again.delivery += " again"
			}
			if every(n, 100) {
				return append(sound(n), again)
			}
			return sound(n)
		}, channel{received: 1000, doubles: 10, redelivered: 5}, 20},
		{"is 200 ms late", testSecret, once(220 * time.Millisecond), channel{received: 1000}, 220},
		{"forges 1 %", testSecret, func(n int) []request {
			if every(n, 100) {
				return []request{{after: time.Millisecond, by: "another secret, of 24 characters"}}
			}
			return sound(n)
		}, channel{received: 990, lost: 10, forged: 10}, 20},
		{"does not sign 1 %", testSecret, func(n int) []request {
			if every(n, 100) {
				return []request{{}}
			}
			return sound(n)
		}, channel{received: 990, lost: 10, unsigned: 10}, 20},
		{"a forged request before the genuine one does not count", testSecret, func(n int) []request {
			return append(sound(n), request{by: "another secret, of 24 characters"})
		}, channel{received: 1000, forged: 1000}, 20},
		{"no secret was given", "", sound, channel{received: 1000, unverified: 1000}, 20},
		{"2 % come after the wait, the last when the run has ended", testSecret, func(n int) []request {
			if every(n, 50) {
				return once(10*time.Second + time.Millisecond)(n)
			}
			return sound(n)
		}, channel{received: 980, lost: 20, late: 19}, 20},
		{"guesses what it has not seen, and chats", testSecret, func(n int) []request {
			return append(sound(n), request{by: testSecret, text: "swb-0123456789abcdef"}, request{by: testSecret, text: "hello"})
		}, channel{received: 1000, unknown: 1000, blank: 1000}, 20},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &planted{plan: tc.plan}
				r := p.measured(t, 1000, tc.key)
				c := r.channels[0]
				got := channel{received: c.received, lost: c.lost, late: c.late, doubles: c.doubles, redelivered: c.redelivered,
					forged: c.forged, unsigned: c.unsigned, unverified: c.unverified, unknown: c.unknown, blank: c.blank}
				if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", tc.want) {
					t.Errorf("counted %+v, want %+v", got, tc.want)
				}
				if v := c.percentiles[0].at; v != tc.p50*time.Millisecond {
					t.Errorf("p50 %v, want %v ms", v, tc.p50)
				}
				if r.posts.scored != 1000 || r.lag.longest != 0 {
					t.Errorf("%d posts scored, lag %v: want 1000, on time", r.posts.scored, r.lag)
				}
			})
		})
	}
}

// The schedule does not wait for what arrives: of a detector that stands still for 10 s
// in every 20, half of the posts are late, although one alone would be late if each post
// waited for the one before.
func TestStallsAreNotOmitted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		p := &planted{plan: func(n int) []request {
			phase := time.Since(start) % (20 * time.Second)
			return []request{{after: max(0, 10*time.Second-phase), by: testSecret}}
		}}
		r := p.measured(t, 4000, testSecret)
		c := r.channels[0]
		late := 0
		for _, d := range c.times {
			if d >= time.Millisecond {
				late++
			}
		}
		if late < 1900 || late > 2100 || c.percentiles[1].at < 7*time.Second { // p90: 8 of 10 s
			t.Errorf("%d of 4000 posts were late, p90 %v: want about half, and 8 s", late, c.percentiles[1].at)
		}
	})
}

// A call that publishes slowly holds up no other, and makes latencies uncertain, which
// the figures say.
func TestSlowPublishing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &planted{takes: 2 * time.Second, plan: once(3 * time.Second), limits: limits{inFlight: 100}}
		r := p.measured(t, 200, testSecret)
		median := r.channels[0].percentiles[0]
		if r.lag.longest != 0 || r.posting.p50 != 2*time.Second || median.at != 4*time.Second {
			t.Errorf("lag %v, publishing %v, p50 %v: want 0, 2 s, and 1 s more than the true 3 s", r.lag, r.posting, median.at)
		}
	})
}

// Posts that were not published are owed by nobody.
func TestPostsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &planted{plan: once(0), refuse: func(n int) bool { return every(n, 10) }}
		r := p.measured(t, 100, testSecret)
		if c := r.channels[0]; r.posts.failed != 10 || r.posts.scored != 90 || c.lost != 0 || c.received != 90 {
			t.Errorf("%+v, %+v: want 10 failed, none lost", r.posts, c)
		}
	})
}

// When the run is stopped, it posts no more, and waits for what it has posted.
func TestStoppedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBook()
		ctx, stop := context.WithTimeout(t.Context(), 10*time.Second)
		defer stop()
		p := &planted{limits: limits{inFlight: 1}, plan: once(9 * time.Second)}
		p.hook = &webhookHandler{b, testSecret}
		var list []due
		for n := range 100 {
			list = append(list, due{at: time.Duration(n)*time.Second + time.Millisecond})
		}
		told := 0
		_, made := (&runner{book: b, poster: p, due: list, wait: 10 * time.Second, failed: func(error) {}, stopped: func() { told++ }}).run(ctx)
		arrivals := closed(b).arrivals
		if len(made) != 10 || len(arrivals) != 10 || told != 1 {
			t.Errorf("%d posts, %d arrivals, told %d times: want the 10 of the first 10 s, all of them, told once", len(made), len(arrivals), told)
		}
		p.senders.Wait()
	})
}

// A run that is stopped before its first post has nothing to wait for.
func TestRunStoppedBeforeTheFirstPost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithCancel(t.Context())
		stop()
		told, began := 0, time.Now()
		r := &runner{book: newBook(), poster: &planted{limits: limits{inFlight: 1}}, due: []due{{at: time.Second}}, wait: time.Hour, stopped: func() { told++ }}
		if _, made := r.run(ctx); len(made) != 0 || told != 0 || time.Since(began) != 0 {
			t.Errorf("%d posts, told of a wait %d times, after %s: want none, at once", len(made), told, time.Since(began))
		}
	})
}
