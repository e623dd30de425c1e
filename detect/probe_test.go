package detect

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/streamwatch/streamwatch/fetcher"
)

// counts is a Prober of a world: an account's mark is how many posts it has, some
// time before its timeline shows them, if ahead is set.
type counts struct {
	w      *world
	ahead  time.Duration
	before func() error // may fail a call, or end its goroutine
}

func (counts) ProbeLimit() int { return 2 }

func (c counts) Probe(_ context.Context, as []fetcher.Account) (fetcher.Probe, error) {
	if c.before != nil {
		if err := c.before(); err != nil {
			return fetcher.Probe{}, err
		}
	}
	c.w.mu.Lock()
	defer c.w.mu.Unlock()
	p := fetcher.Probe{Marks: make([]fetcher.Mark, len(as))}
	for i, a := range as {
		p.Marks[i] = 1
		for _, post := range c.w.posts[a.Username] {
			if !post.visible.After(time.Now().Add(c.ahead)) {
				p.Marks[i]++
			}
		}
	}
	return p, nil
}

// probing runs f with a detector that polls every 10 minutes and makes a probe a
// second.
func probing(t *testing.T, c counts, f func(t *testing.T, w *world, d *Detector)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		c.w = w
		d := w.detector(t, func(s *settings) { s.Shards, s.ProbeRate, s.Roles.Probe = 1, 1, c })
		defer start(t, d)()
		s := sub("m", "nasa", "esa", "jaxa")
		s.Interval = 10 * time.Minute
		set(t, d, s)
		after(12 * time.Minute) // all were polled and probed
		f(t, w, d)
	})
}

func TestProbeHasAnAccountPolledAtOnce(t *testing.T) {
	probing(t, counts{}, func(t *testing.T, w *world, d *Detector) {
		before := len(w.calls)
		w.publish("esa", "1", 0)
		after(3 * time.Second) // three accounts, two a call: a round is 2 s
		wantEvents(t, w, "m:1")
		if n := len(w.calls) - before; n != 1 {
			t.Errorf("%d timelines read, want that of the account that has changed", n)
		}
		s := d.Stats()
		if p := s.Probes; p.Found != 1 || p.Changes != 1 || p.Missed != 0 || p.FalseAlarms != 0 || p.Lag.Max() > 3*time.Second {
			t.Errorf("probes %+v", p)
		}
		plans, err := d.Plan(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if p := plans.Probes; p == nil || p.Mean > 10*time.Second || p.Mean >= plans.Now.Mean || p.CallsPerMinute != plans.Now.CallsPerMinute+60 {
			t.Errorf("plan with probes %+v, without %+v", p, plans.Now)
		}
	})
}

// wide probes many accounts in one call.
type wide struct{ counts }

func (wide) ProbeLimit() int { return 100 }

// However many processors there are, accounts that fit into one call share it.
func TestProbesAreSharedByAllAccounts(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(s *settings) { s.Shards, s.ProbeRate, s.Roles.Probe = 0, 0.1, wide{counts{w: w}} })
		defer start(t, d)()
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint("a", i))
		}
		s := sub("m", names...)
		s.Interval = 10 * time.Minute
		set(t, d, s)
		after(12 * time.Minute)
		for i, name := range names {
			w.publish(name, fmt.Sprint(i), 0)
		}
		after(15 * time.Second)
		if p := d.Stats().Probes; p.Found != 20 {
			t.Errorf("probes have found the posts of %d accounts within two calls, want 20", p.Found)
		}
	})
}

// A mark may change before the timeline shows the post.
func TestProbeAheadOfTheTimeline(t *testing.T) {
	probing(t, counts{ahead: time.Hour}, func(t *testing.T, w *world, d *Detector) {
		w.publish("esa", "1", 3*time.Second) // the mark changes at once
		after(2 * time.Second)
		wantEvents(t, w)
		after(3 * time.Second)
		wantEvents(t, w, "m:1")
		if p := d.Stats().Probes; p.Found != 1 || p.FalseAlarms != 0 {
			t.Errorf("probes %+v", p)
		}
	})
}

// What marks do not show is found by the polls that go on.
func TestProbeThatMisses(t *testing.T) {
	probing(t, counts{ahead: -100 * time.Hour}, func(t *testing.T, w *world, d *Detector) {
		w.publish("esa", "1", 0)
		after(10 * time.Minute)
		wantEvents(t, w, "m:1")
		if p := d.Stats().Probes; p.Missed != 1 || p.Changes != 0 {
			t.Errorf("probes %+v", p)
		}
	})
}

// A change during a poll, which may have begun too early, is polled for after it.
func TestProbeDuringAPoll(t *testing.T) {
	probing(t, counts{}, func(t *testing.T, w *world, d *Detector) {
		w.setBefore(func(q fetcher.TimelineQuery, _ int) (*fetcher.Page, error) {
			pg := w.timeline(q) // as it was when the call came
			if q.Username == "esa" {
				<-time.After(5 * time.Second)
			}
			return &pg, nil
		})
		w.publish("esa", "1", 0)
		after(3 * time.Second) // its poll is under way
		w.publish("esa", "2", 0)
		after(10 * time.Second)
		wantEvents(t, w, "m:1", "m:2")
	})
}

// Probes that fail close nothing else, and go on later.
func TestProbesFail(t *testing.T) {
	var fail atomic.Bool
	fail.Store(true)
	for name, failure := range map[string]func() error{
		"limit":   func() error { return &fetcher.RateLimitError{RetryAfter: 5 * time.Minute} },
		"a panic": func() error { panic("prober") },
	} {
		t.Run(name, func(t *testing.T) {
			probing(t, counts{before: func() error {
				if fail.Load() {
					return failure()
				}
				return nil
			}}, func(t *testing.T, w *world, d *Detector) {
				w.publish("esa", "1", 0)
				after(10 * time.Minute)
				wantEvents(t, w, "m:1")
				if s := d.Stats(); s.RateLimited != 0 || s.Probes.Errors == 0 || s.Probes.Errors != s.Probes.Calls {
					t.Errorf("probes %+v, %d polls rate limited", s.Probes, s.RateLimited)
				}
				fail.Store(false)
				after(12 * time.Minute)
				w.publish("esa", "2", 0)
				after(3 * time.Second)
				wantEvents(t, w, "m:1", "m:2")
				fail.Store(true)
			})
		})
	}
}

// A platform that turns out to have no probes leaves all calls to polls.
func TestProbesUnsupported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld()
		d := w.detector(t, func(s *settings) {
			s.Shards, s.Pace, s.FetchRate = 1, PaceBudget, 1
			s.Roles.Probe = counts{w: w, before: func() error { return fetcher.ErrUnsupported }}
		})
		defer start(t, d)()
		s := sub("m", accountNames(20)...)
		s.Interval = 0
		set(t, d, s)
		after(20 * time.Minute)
		st := d.Stats()
		if st.Probes.Calls != 1 || st.Pace.Budget != 1 {
			t.Errorf("%d probes, %g polls a second planned; want 1 and 1", st.Probes.Calls, st.Pace.Budget)
		}
		plans, err := d.Plan(t.Context())
		if err != nil || plans.Probes.Mean != plans.Now.Mean {
			t.Errorf("plan with probes %+v, without %+v, %v: want the same", plans.Probes, plans.Now, err)
		}
	})
}

// The rate of probes follows SetProbeRate.
func TestProbeRate(t *testing.T) {
	probing(t, counts{}, func(t *testing.T, w *world, d *Detector) {
		for _, perSecond := range []float64{0.1, 0.5, 1} {
			d.SetProbeRate(perSecond)
			before := d.Stats().Probes.Calls
			after(100 * time.Second)
			if n, want := float64(d.Stats().Probes.Calls-before), 100*perSecond; n < want-2 || n > want+2 {
				t.Errorf("%g probes in 100 s, want %g", n, want)
			}
		}
	})
}

func TestProbeSettings(t *testing.T) {
	for _, c := range []struct {
		cfg   Config
		probe fetcher.Prober
		want  string
	}{
		{Config{ProbeRate: 1}, nil, "ProbeRate 1 is not allowed: want 0 without Roles.Probe"},
		{Config{ProbeRate: -1}, counts{}, "ProbeRate -1 is not allowed: want 0 to"},
		{Config{}, counts{}, "ProbeRate 0 is not allowed with Pace interval"},
		{Config{Pace: PaceAtLeast, FetchRate: 1}, counts{}, "Roles.Probe with Pace budget, at least the interval is not allowed"},
		{Config{ProbeRate: 1}, counts{}, ""},
		{Config{Pace: PaceBudget, FetchRate: 1}, counts{}, ""},
	} {
		w := &world{}
		_, err := New(c.cfg, Deps{Fetcher: w, Journal: w, State: w, Roles: fetcher.Roles{Probe: c.probe}})
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.cfg, err, c.want)
		}
	}
}

// shared has one limit for timelines and probes, apart one for each.
type shared struct{}

func (shared) Bucket(fetcher.Call) string { return "all" }

type apart struct{}

func (apart) Bucket(c fetcher.Call) string {
	if c.Role == fetcher.RoleProbe {
		return "probes"
	}
	return "timelines"
}

// What is refused to a probe or a poll holds up both, if they count against one limit.
func TestProbesShareALimit(t *testing.T) {
	for _, tt := range []struct {
		name          string
		buckets       fetcher.Bucketer
		rate          float64 // of probes; 0 shares the polls' calls
		refused       string  // "probes" or "polls"
		left, all     bool    // the answer tells that no call is left; all calls are meant
		polls, probes bool    // whether they go on
	}{
		{"a probe, in one bucket", shared{}, 1, "probes", false, false, false, false},
		{"a probe, told by an answer", shared{}, 1, "probes", true, false, false, false},
		{"a poll, in one bucket", shared{}, 1, "polls", false, false, false, false},
		{"a probe, in a bucket of its own", apart{}, 1, "probes", false, false, true, false},
		{"a poll, in a bucket of its own", apart{}, 1, "polls", false, false, false, true},
		{"a probe, with a rate of its own", nil, 1, "probes", false, false, true, false},
		{"a probe, that means all calls", nil, 1, "probes", false, true, false, false},
		{"a poll, without buckets", nil, 1, "polls", false, false, false, false},
		{"a probe, of shared calls", nil, 0, "probes", false, false, false, false},
		{"a probe, of shared calls in its own bucket", apart{}, 0, "probes", false, false, true, false},
		{"a poll, of shared calls", nil, 0, "polls", false, false, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld()
				var probes, refusals atomic.Int64
				var from atomic.Pointer[time.Time] // when refusals begin
				refuse := func(who string) *fetcher.RateLimitError {
					at := from.Load()
					if at == nil || who != tt.refused {
						return nil
					}
					if left := time.Until(at.Add(10 * time.Minute)); left > 0 {
						refusals.Add(1)
						return &fetcher.RateLimitError{RetryAfter: left, All: tt.all}
					}
					return nil
				}
				p := limited{counts{w: w}, func() (limit fetcher.RateLimit, err error) {
					probes.Add(1)
					if refused := refuse("probes"); refused != nil && tt.left {
						limit = fetcher.RateLimit{Known: true, Limit: 1, Reset: time.Now().Add(refused.RetryAfter)}
					} else if refused != nil {
						err = refused
					}
					return limit, err
				}}
				w.setBefore(func(fetcher.TimelineQuery, int) (*fetcher.Page, error) {
					if refused := refuse("polls"); refused != nil {
						return nil, refused
					}
					return nil, nil
				})
				d := w.detector(t, func(s *settings) {
					s.Shards, s.ProbeRate, s.Roles.Probe, s.Roles.Buckets = 1, tt.rate, p, tt.buckets
					if tt.rate == 0 {
						s.Pace, s.FetchRate = PaceBudget, 1
					}
				})
				defer start(t, d)()
				m := sub("m", "nasa", "esa", "jaxa")
				m.Interval = 10 * time.Second
				set(t, d, m)
				after(2 * time.Minute)
				now := time.Now()
				from.Store(&now)
				after(time.Minute)
				probed := probes.Load()
				polled := polls(w, func() { after(7 * time.Minute) })
				probed = probes.Load() - probed
				if (polled > 0) != tt.polls || (probed > 0) != tt.probes || refusals.Load() == 0 {
					t.Errorf("%d polls and %d probes after %d refusals, want polls %t, probes %t", polled, probed, refusals.Load(), tt.polls, tt.probes)
				}
				after(5 * time.Minute)
				probed = probes.Load()
				polled = polls(w, func() { after(3 * time.Minute) })
				if probed = probes.Load() - probed; polled == 0 || probed == 0 {
					t.Errorf("%d polls and %d probes when the limit is over", polled, probed)
				}
			})
		})
	}
}

// limited is counts with a limit.
type limited struct {
	counts
	ask func() (fetcher.RateLimit, error)
}

func (l limited) Probe(ctx context.Context, as []fetcher.Account) (fetcher.Probe, error) {
	limit, err := l.ask()
	if err != nil {
		return fetcher.Probe{}, err
	}
	p, err := l.counts.Probe(ctx, as)
	p.RateLimit = limit
	return p, err
}
